// One trial: what it is, its attempts, its curve, its log.

import { html, useEffect, useState } from "../preact.js";
import { useSource, useStudy } from "../store.js";
import { useKeys } from "../keys.js";
import { Origin, Status } from "./trials.js";
import { duration, moment, number, setting, visible } from "../format.js";

export const trial = { id: "trial", title: "Trial", key: "1", component: TrialPage, hidden: true, noFilter: true };

function TrialPage() {
  const study = useStudy();
  const source = useSource();
  const id = Number(study.rest[0]);
  const [details, setDetails] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let current = true;
    source.trial(study.id, id).then(
      (found) => current && (setDetails(found), setError(null)),
      (reason) => current && setError(reason.message),
    );
    return () => {
      current = false;
    };
  }, [source, study.id, id, study.table.version]);
  useEffect(() => {
    document.querySelector("main")?.focus();
  }, [id]);
  useKeys(
    [
      { key: "n", label: "Next trial", group: "Trial", run: () => id + 1 < study.table.rows && study.openTrial(id + 1) },
      { key: "p", label: "Previous trial", group: "Trial", run: () => id > 0 && study.openTrial(id - 1) },
      { key: "Escape", label: "Back to the trials", group: "Trial", run: () => study.go("trials") },
    ],
    [id, study.table.rows],
  );
  if (error) return html`<p class="error" role="alert">${visible(error)}</p>`;
  if (details === null || details.trial !== id) return html`<p class="soft" role="status">Reading trial ${study.rest[0]}…</p>`;
  return html`
    <div class="trial">
      <div class="bar">
        <h1>Trial ${details.trial}</h1>
        <${Status} word=${details.status} />
        <span class="space"></span>
        <a href=${study.hashOfTrial(Math.max(id - 1, 0))}>Previous</a>
        <a href=${study.hashOfTrial(Math.min(id + 1, study.table.rows - 1))}>Next</a>
      </div>
      <${Facts} details=${details} study=${study} />
      ${details.failure && html`<${Failure} failure=${details.failure} />`}
      <div class="columns">
        <${Settings} details=${details} />
        <${Attempts} details=${details} />
      </div>
    </div>`;
}

function Facts({ details, study }) {
  const link = (number) => html`<a href=${study.hashOfTrial(number)}>${number}</a>`;
  return html`
    <dl class="tiles">
      <div><dt>Value</dt><dd>${number(details.value)}</dd>
        <dd class="note">${details.place ? `${details.place} of ${details.of} on its rung` : details.direction}</dd></div>
      <div><dt>${visible(details.fidelity.name)}</dt><dd>${number(details.fidelity.value)}</dd><dd class="note">of ${number(details.fidelity.full)}</dd></div>
      <div><dt>Place</dt><dd>rung ${details.rung ?? "–"}</dd><dd class="note">${details.bracket === null ? "no bracket" : `bracket ${details.bracket}`}</dd></div>
      <div><dt>Origin</dt><dd><${Origin} word=${details.origin} /></dd></div>
      <div><dt>Continues</dt><dd>${details.parent === null ? "nothing" : link(details.parent)}</dd>
        <dd class="note">${details.children.length ? html`continued by ${details.children.map((one, i) => [i ? ", " : "", link(one)])}` : "not continued"}</dd></div>
    </dl>`;
}

function Settings({ details }) {
  return html`
    <section class="card">
      <h2>Configuration</h2>
      <table class="pairs">
        <thead><tr><th scope="col">Parameter</th><th scope="col" class="number">Value</th><th scope="col">Prior</th></tr></thead>
        <tbody>${Object.entries(details.config).map(([name, value]) => html`
          <tr><th scope="row"><bdi>${visible(name)}</bdi></th><td class="mono number">${setting(value)}</td>
            <td class="mono faint">${name in details.prior ? setting(details.prior[name]) : ""}</td></tr>`)}
        </tbody>
      </table>
    </section>`;
}

function Attempts({ details }) {
  return html`
    <section class="card">
      <h2>Attempts</h2>
      <table class="pairs">
        <thead><tr><th scope="col">#</th><th scope="col">Worker</th><th scope="col">Began</th><th scope="col">End</th></tr></thead>
        <tbody>${details.attempts.map((one) => html`
          <tr><th scope="row">${one.attempt}</th><td><bdi>${visible(one.worker)}</bdi></td>
            <td class="soft nowrap">${moment(one.began)}</td>
            <td>${one.kind ?? (one.ended ? "succeeded" : "running")}</td></tr>`)}
        </tbody>
      </table>
    </section>`;
}

function Failure({ failure }) {
  return html`
    <section class="card failure">
      <h2>${visible(failure.kind)}</h2>
      <p class="reason"><bdi>${failure.reason}</bdi></p>
      ${failure.advice && html`<p class="soft">${failure.advice}</p>`}
      ${failure.traceback && html`<pre class="mono" tabindex="0"><bdi>${failure.traceback}</bdi></pre>`}
    </section>`;
}
