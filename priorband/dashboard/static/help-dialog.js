// The list of keys, opened by `?`.

import { html } from "./preact.js";
import { Dialog } from "./dialog.js";
import { currentKeys } from "./keys.js";

const IN_CHARTS = [
  { key: "← →", label: "Go through the points; Page Up and Page Down by ten", group: "In a chart" },
  { key: "Home End", label: "First and last point", group: "In a chart" },
  { key: "Enter", label: "Open the trial of the point", group: "In a chart" },
  { key: "t", label: "Show the data as a table", group: "In a chart" },
];

export function HelpDialog({ onClose }) {
  const groups = Map.groupBy([...currentKeys(), ...IN_CHARTS], (one) => one.group);
  return html`
    <${Dialog} title="Keys" onClose=${onClose}>
      <div class="key-groups">
        ${[...groups].map(([name, keys]) => html`
          <section>
            <h2>${name}</h2>
            <dl class="keys">
              ${keys.map((one) => html`
                <div><dt>${one.key.split(" ").map((part) => html`<kbd>${part}</kbd>`)}</dt><dd>${one.label}</dd></div>`)}
            </dl>
          </section>`)}
      </div>
    <//>`;
}
