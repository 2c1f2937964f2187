// Change the prior while the study runs: decisions from now on use the new one.

import { html, useState } from "./preact.js";
import { Dialog } from "./dialog.js";
import { useEdit } from "./edit-button.js";
import { useStudy } from "./store.js";
import { setting, visible } from "./format.js";

export function PriorDialog({ onClose }) {
  const { problem } = useStudy();
  const [send, busy, error] = useEdit();
  const [values, setValues] = useState({});
  const [confidence, setConfidence] = useState("medium");
  const searched = problem.parameters.filter((one) => one.type !== "Constant");
  const submit = async (event) => {
    event.preventDefault();
    const changed = searched.filter((one) => (values[one.name] ?? "").trim() !== "");
    const beliefs = Object.fromEntries(changed.map((one) => [one.name, one.choices ? one.choices[Number(values[one.name])] : Number(values[one.name])]));
    if (await send("prior", { beliefs, confidence }, "The prior is changed.")) onClose();
  };
  const set = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  return html`
    <${Dialog} title="Prior" onClose=${onClose}>
      <p class="soft">The values that you expect to be best. An empty field keeps what the prior says now. Workers use the new
        prior for their next trials; the change is a record of the study, and the charts mark it.</p>
      <form class="form" onSubmit=${submit}>
        ${searched.map((one, i) => html`
          <label for=${`prior-${i}`}><bdi>${visible(one.name)}</bdi></label>
          ${one.choices
            ? html`<select id=${`prior-${i}`} value=${values[one.name] ?? ""} onChange=${set(one.name)}>
                <option value="">as it is</option>
                ${one.choices.map((choice, at) => html`<option value=${String(at)}>${setting(choice)}</option>`)}</select>`
            : html`<input id=${`prior-${i}`} class="mono" type="text" inputmode="decimal" value=${values[one.name] ?? ""} onInput=${set(one.name)} />`}
          <span class="faint mono">${one.name in problem.prior ? `now ${setting(problem.prior[one.name])}` : "no prior"}</span>`)}
        <label for="prior-confidence">Confidence</label>
        <select id="prior-confidence" value=${confidence} onChange=${(event) => setConfidence(event.target.value)}>
          ${["low", "medium", "high"].map((word) => html`<option value=${word}>${word}</option>`)}
        </select>
        <span></span>
        <div class="form-end">
          ${error && html`<p class="bad" role="alert">${visible(error)}</p>`}
          <button class="primary" type="submit" disabled=${busy}>Change the prior</button>
        </div>
      </form>
    <//>`;
}
