// Change the budget: the limits of all workers together.

import { html, useState } from "./preact.js";
import { Dialog } from "./dialog.js";
import { useEdit } from "./edit-button.js";
import { useStudy } from "./store.js";
import { number, visible } from "./format.js";

const LABELS = { trainings: "Full trainings", trials: "Trials", cost: "Cost", hours: "Hours" };

export function BudgetDialog({ onClose }) {
  const { overview } = useStudy();
  const [send, busy, error] = useEdit();
  const [limits, setLimits] = useState(() =>
    Object.fromEntries(Object.entries(overview.budget).map(([name, one]) => [name, one.limit === null ? "" : String(one.limit)])));
  const submit = async (event) => {
    event.preventDefault();
    const body = Object.fromEntries(Object.entries(limits).map(([name, text]) => [name, text.trim() === "" ? null : Number(text)]));
    if (await send("budget", body, "The budget is changed.")) onClose();
  };
  return html`
    <${Dialog} title="Budget" onClose=${onClose}>
      <p class="soft">The first limit that is reached ends the study. An empty field is no limit. Workers that run follow at once;
        a study whose workers have ended goes on when they are started again.</p>
      <form class="form" onSubmit=${submit}>
        ${Object.keys(limits).map((name) => html`
          <label for=${`limit-${name}`}>${LABELS[name] ?? name}</label>
          <input id=${`limit-${name}`} class="mono" type="text" inputmode="decimal" value=${limits[name]}
                 onInput=${(event) => setLimits({ ...limits, [name]: event.target.value })} />
          <span class="faint">${number(overview.budget[name].used)} used</span>`)}
        <div class="form-end">
          ${error && html`<p class="bad" role="alert">${visible(error)}</p>`}
          <button class="primary" type="submit" disabled=${busy}>Set the budget</button>
        </div>
      </form>
    <//>`;
}
