// Small controls of charts. What they choose is in the address.

import { html } from "../preact.js";

/** One of a few options: a row of buttons. `options` are [value, label] pairs. */
export function Choice({ label, value, options, onChange }) {
  return html`
    <span class="choice" role="group" aria-label=${label}>
      ${options.map(([own, text]) => html`
        <button type="button" aria-pressed=${own === value} onClick=${() => onChange(own)}>${text}</button>`)}
    </span>`;
}

/** One of many options. */
export function Select({ label, value, options, onChange }) {
  return html`
    <label class="select"><span>${label}</span>
      <select value=${value} onChange=${(event) => onChange(event.target.value)}>
        ${options.map(([own, text]) => html`<option value=${own} selected=${own === value}>${text}</option>`)}
      </select>
    </label>`;
}

/** On or off. */
export function Toggle({ label, on, onChange }) {
  return html`<button type="button" class="quiet" aria-pressed=${on} onClick=${() => onChange(!on)}>${label}</button>`;
}
