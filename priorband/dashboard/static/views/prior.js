// The prior: its report card, the chances of its draws over budget, and the evidence behind them.

import { html } from "../preact.js";
import { announce } from "../announce.js";
import { useStudy } from "../store.js";
import { ChancesChart, EvidenceChart } from "../charts/chances-charts.js";
import { Verdict } from "../charts/verdict.js";
import { PriorParameters } from "../charts/prior-parameters.js";
import { unready, useWhole } from "../charts/use-filtered.js";
import { percent, visible } from "../format.js";

export const prior = { id: "prior", title: "Prior", key: "b", component: PriorPage };

function PriorPage() {
  const found = useWhole("prior-report");
  return html`
    <div class="stack">
      <${Card} found=${found} />
      <div class="chart-grid"><${ChancesChart} /><${EvidenceChart} /></div>
    </div>`;
}

function Card({ found }) {
  const { problem } = useStudy();
  const missing = unready(found);
  if (missing) return html`<section class="card"><h2>Report card of the prior</h2><p class="soft">${missing}</p></section>`;
  const report = found.data;
  return html`
    <section class="card prior-card">
      <h2>Report card of the prior</h2>
      <p class="lead">${visible(report.sentence)}</p>
      ${found.note && html`<p class="soft">${found.note}</p>`}
      ${report.verdict !== "no belief" && html`
        <p><${Verdict} word=${report.verdict} />${report.chance !== null && html`<span class="soft"> with probability ${percent(report.chance)}</span>`}</p>
        ${report.clues.length > 0 && html`
          <ul class="clues">${report.clues.map((clue) => html`<li><span class="number mono">${signed(clue.log_odds)}</span>${visible(clue.text)}</li>`)}</ul>`}`}
    </section>
    ${report.parameters.length > 0 && html`<${PriorParameters} report=${report} parameters=${problem.parameters} />`}
    ${report.suggestion && report.suggestion.names.length > 0 && html`<${Suggestion} suggestion=${report.suggestion} />`}`;
}

function signed(value) {
  if (value === null) return "";
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;
}

function Suggestion({ suggestion }) {
  const { params, setParams } = useStudy();
  const toml = params.paste === "toml";
  const text = toml ? suggestion.toml : suggestion.python;
  const copy = () => navigator.clipboard?.writeText(text).then(() => announce("Copied."), () => announce("Copying is not allowed here: select the text."));
  return html`
    <section class="card">
      <div class="chart-head"><div><h2>Suggested prior for the next study</h2><p class="soft">Parameters without a belief stay uniform.</p></div>
        <div class="chart-tools"><span class="choice" role="group" aria-label="Form">
          <button aria-pressed=${!toml} onClick=${() => setParams({ paste: null })}>Python</button><button aria-pressed=${toml} onClick=${() => setParams({ paste: "toml" })}>TOML</button></span>
          <button class="quiet" onClick=${copy}>Copy</button></div></div>
      <pre class="mono" tabindex="0"><bdi>${text}</bdi></pre>
    </section>`;
}
