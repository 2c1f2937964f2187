// Queue a configuration: the next worker that asks gets it.

import { html, useState } from "./preact.js";
import { Dialog } from "./dialog.js";
import { useEdit } from "./edit-button.js";
import { useStudy } from "./store.js";
import { number, setting, visible } from "./format.js";

export function QueueDialog({ config, fidelity, onClose }) {
  const { problem } = useStudy();
  const [send, busy, error] = useEdit();
  const [values, setValues] = useState(() =>
    Object.fromEntries(problem.parameters.filter((one) => one.type !== "Constant").map((one) => [one.name, shownValue(one, config[one.name])])));
  const [steps, setSteps] = useState(String(fidelity));
  const submit = async (event) => {
    event.preventDefault();
    const wanted = {};
    for (const one of problem.parameters) {
      if (one.type === "Constant") {
        if (one.name in config) wanted[one.name] = one.value;
      } else if (values[one.name] !== "") wanted[one.name] = one.choices ? one.choices[Number(values[one.name])] : Number(values[one.name]);
    }
    if (await send("queue", { config: wanted, fidelity: Number(steps) }, "The configuration is queued.")) onClose();
  };
  const set = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  return html`
    <${Dialog} title="Queue a configuration" onClose=${onClose}>
      <form class="form" onSubmit=${submit}>
        ${problem.parameters.filter((one) => one.type !== "Constant").map((one, i) => html`
          <label for=${`queue-${i}`}><bdi>${visible(one.name)}</bdi></label>
          ${one.choices
            ? html`<select id=${`queue-${i}`} value=${values[one.name]} onChange=${set(one.name)}>
                ${one.when && html`<option value="">inactive</option>`}
                ${one.choices.map((choice, at) => html`<option value=${String(at)}>${setting(choice)}</option>`)}</select>`
            : html`<input id=${`queue-${i}`} class="mono" type="text" inputmode="decimal" required=${!one.when}
                     value=${values[one.name]} onInput=${set(one.name)} />`}
          <span class="faint mono">${one.choices ? "" : `${number(one.low)} … ${number(one.high)}`}</span>`)}
        <label for="queue-fidelity"><bdi>${visible(problem.fidelity.name)}</bdi></label>
        <select id="queue-fidelity" value=${steps} onChange=${(event) => setSteps(event.target.value)}>
          ${problem.fidelity.rungs.map((one) => html`<option value=${String(one)}>${number(one)}</option>`)}
        </select>
        <span class="faint">from scratch</span>
        <div class="form-end">
          ${error && html`<p class="bad" role="alert">${visible(error)}</p>`}
          <button class="primary" type="submit" disabled=${busy}>Queue</button>
        </div>
      </form>
    <//>`;
}

function shownValue(parameter, value) {
  if (value === undefined) return "";
  if (!parameter.choices) return String(value);
  return String(parameter.choices.findIndex((one) => JSON.stringify(one) === JSON.stringify(value)));
}
