// The overview: how far the study is, the best trial, what is running, what it is about.

import { html, useState } from "../preact.js";
import { BudgetDialog } from "../budget-dialog.js";
import { PriorDialog } from "../prior-dialog.js";
import { QueueDialog } from "../queue-dialog.js";
import { useSource, useStudy } from "../store.js";
import { Progress } from "../progress.js";
import { timeLeft } from "../study-list.js";
import { clock, day, duration, number, setting, visible, whole } from "../format.js";
import { OVERVIEW_CHARTS } from "../charts/overview-charts.js";

export const overview = { id: "overview", title: "Overview", key: "o", component: Overview };

function Overview() {
  const study = useStudy();
  return html`
    <div class="overview">
      <${Tiles} overview=${study.overview} />
      ${OVERVIEW_CHARTS.map((Chart) => html`<${Chart} />`)}
      <div class="columns">
        <${Best} study=${study} />
        <${Running} study=${study} />
        <${About} study=${study} />
      </div>
    </div>`;
}

function Tiles({ overview }) {
  const { trials, budget } = overview;
  const best = overview.best_in_full ?? overview.best;
  const limits = Object.entries(budget).filter(([, one]) => one.limit !== null);
  return html`
    <dl class="tiles">
      <div><dt>Best value</dt><dd>${best ? number(best.value) : "–"}</dd>
        <dd class="note">${best ? `trial ${best.trial}, ${visible(overview.fidelity.name)} ${number(best.fidelity)}` : "no trial has succeeded yet"}</dd></div>
      <div><dt>Budget</dt><dd><${Progress} share=${overview.share} over=${overview.over} running=${trials.running} /></dd>
        <dd class="note">${limits.map(([name, one]) => `${number(one.used)} of ${number(one.limit)} ${name}`).join(", ") || "no limit"}</dd></div>
      <div><dt>Time left</dt><dd>${timeLeft(overview)}</dd>
        <dd class="note">${overview.workers ? `${overview.workers} ${overview.workers === 1 ? "worker" : "workers"}` : "no worker is running"}</dd></div>
      <div><dt>Trials</dt><dd>${whole(trials.ended)}</dd>
        <dd class="note">${trials.running} running${trials.waiting ? `, ${trials.waiting} waiting` : ""}</dd></div>
      <div><dt>Failed</dt><dd class=${trials.failed ? "bad" : ""}>${whole(trials.failed)}</dd>
        <dd class="note">${Object.entries(overview.failures).map(([kind, count]) => `${count} ${kind}`).join(", ") || "none"}</dd></div>
      <div><dt>Created</dt><dd>${day(overview.created)}</dd>
        <dd class="note">${clock(overview.created)}, ${overview.direction}s</dd></div>
    </dl>`;
}

function Best({ study }) {
  const source = useSource();
  const [queue, setQueue] = useState(false);
  const { overview, problem } = study;
  const best = overview.best_in_full ?? overview.best;
  if (!best) return null;
  return html`
    <section class="card">
      <div class="card-head"><h2>Best configuration</h2>
        ${source.canEdit && html`<button onClick=${() => setQueue(true)}>Queue a variant…</button>`}</div>
      <p class="soft"><a href=${study.hashOfTrial(best.trial)}>Trial ${best.trial}</a> from ${visible(best.origin)}, at ${visible(overview.fidelity.name)} ${number(best.fidelity)}</p>
      <table class="pairs">
        <thead class="visually-hidden"><tr><th>Parameter</th><th>Value</th><th>Prior</th></tr></thead>
        <tbody>${Object.entries(best.config).map(([name, value]) => html`
          <tr><th scope="row"><bdi>${visible(name)}</bdi></th><td class="mono number">${setting(value)}</td>
            <td class="faint mono">${name in problem.prior ? `prior ${setting(problem.prior[name])}` : ""}</td></tr>`)}
        </tbody>
      </table>
      ${queue && html`<${QueueDialog} config=${best.config} fidelity=${overview.fidelity.full} onClose=${() => setQueue(false)} />`}
    </section>`;
}

function Running({ study }) {
  const { running } = study.overview;
  return html`
    <section class="card">
      <h2>Running now</h2>
      ${running.length === 0
        ? html`<p class="soft">No trial is running.</p>`
        : html`<table class="pairs">
            <thead><tr><th scope="col">Trial</th><th scope="col">Step</th><th scope="col">Value</th><th scope="col">For</th></tr></thead>
            <tbody>${running.slice(0, 12).map((one) => html`
              <tr><th scope="row"><a href=${study.hashOfTrial(one.trial)}>${one.trial}</a></th>
                <td class="number">${one.step === null ? "–" : number(one.step)} / ${number(one.fidelity)}</td>
                <td class="number">${number(one.value)}</td>
                <td class=${one.lost ? "bad" : "soft"}>${one.lost ? "worker lost" : duration(one.seconds)}</td></tr>`)}
            </tbody>
          </table>
          ${running.length > 12 && html`<p class="soft">and ${running.length - 12} more</p>`}`}
    </section>`;
}

function About({ study }) {
  const source = useSource();
  const [budget, setBudget] = useState(false);
  const [prior, setPrior] = useState(false);
  const { problem } = study;
  const { fidelity } = problem;
  return html`
    <section class="card">
      <div class="card-head"><h2>Problem</h2>
        ${source.canEdit && html`<span class="card-tools"><button onClick=${() => setBudget(true)}>Budget…</button>
          <button onClick=${() => setPrior(true)}>Prior…</button></span>`}</div>
      <p class="soft">${visible(problem.method.replaceAll("'", ""))}, seed ${problem.seed}, ${problem.maximize ? "maximises" : "minimises"}</p>
      <table class="pairs">
        <thead class="visually-hidden"><tr><th>Parameter</th><th>Range</th></tr></thead>
        <tbody>
          <tr><th scope="row"><bdi>${visible(fidelity.name)}</bdi></th><td class="mono">${fidelity.rungs.map((one) => number(one)).join(" · ")}</td></tr>
          ${problem.parameters.map((one) => html`
            <tr><th scope="row"><bdi>${visible(one.name)}</bdi></th><td class="mono">${range(one)}</td></tr>`)}
        </tbody>
      </table>
      ${budget && html`<${BudgetDialog} onClose=${() => setBudget(false)} />`}
      ${prior && html`<${PriorDialog} onClose=${() => setPrior(false)} />`}
    </section>`;
}

function range(one) {
  if (one.choices) return one.choices.map(setting).join(" | ");
  if (one.low === undefined) return setting(one.value);
  return `${number(one.low)} … ${number(one.high)}${one.log ? " log" : ""}`;
}
