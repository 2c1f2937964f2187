// The list of keys, opened by `?`.

import { html, useEffect, useRef } from "./preact.js";
import { currentKeys } from "./keys.js";

const IN_CHARTS = [
  { key: "← →", label: "Go through the points; Page Up and Page Down by ten", group: "In a chart" },
  { key: "Home End", label: "First and last point", group: "In a chart" },
  { key: "Enter", label: "Open the trial of the point", group: "In a chart" },
  { key: "t", label: "Show the data as a table", group: "In a chart" },
];

export function HelpDialog({ onClose }) {
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  const groups = Map.groupBy([...currentKeys(), ...IN_CHARTS], (one) => one.group);
  return html`
    <dialog ref=${dialog} class="dialog" aria-labelledby="help-title" onClose=${onClose}
            onClick=${(event) => event.target === dialog.current && dialog.current.close()}>
      <div class="dialog-head">
        <h1 id="help-title">Keys</h1>
        <button class="quiet" onClick=${() => dialog.current.close()}>Close</button>
      </div>
      <div class="key-groups">
        ${[...groups].map(([name, keys]) => html`
          <section>
            <h3>${name}</h3>
            <dl class="keys">
              ${keys.map((one) => html`
                <div><dt>${one.key.split(" ").map((part) => html`<kbd>${part}</kbd>`)}</dt><dd>${one.label}</dd></div>`)}
            </dl>
          </section>`)}
      </div>
    </dialog>`;
}
