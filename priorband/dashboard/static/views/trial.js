// One trial: why it was chosen and what became of it, its curve, ancestry, attempts, log and files.

import { html, useEffect, useState } from "../preact.js";
import { useSource, useStudy } from "../store.js";
import { useKeys } from "../keys.js";
import { EditButton } from "../edit-button.js";
import { NoteList } from "../note-list.js";
import { QueueDialog } from "../queue-dialog.js";
import { TrialCurve } from "../charts/trial-curve.js";
import { Origin, Status } from "../words.js";
import { bytes, duration, moment, number, setting, visible } from "../format.js";

export const trial = { id: "trial", title: "Trial", key: "1", component: TrialPage, hidden: true, noFilter: true };

function TrialPage() {
  const study = useStudy();
  const source = useSource();
  const id = Number(study.rest[0]);
  const [details, setDetails] = useState(null);
  const [error, setError] = useState(null);
  const [queue, setQueue] = useState(false);
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
    document.title = `Trial ${id} – ${visible(study.summary.name)} – priorband`;
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
  if (details === null || details.trial !== id) return html`<p class="soft" role="status">Reading trial ${id}…</p>`;
  return html`
    <div class="trial">
      <div class="bar">
        <h1>Trial ${details.trial}</h1>
        <${Status} word=${details.status} />
        <span class="space"></span>
        ${source.canEdit && html`<${Edits} details=${details} onQueue=${() => setQueue(true)} />`}
        ${id > 0 && html`<a href=${study.hashOfTrial(id - 1)} title="Previous (p)">Previous</a>`}
        ${id + 1 < study.table.rows && html`<a href=${study.hashOfTrial(id + 1)} title="Next (n)">Next</a>`}
      </div>
      <${Facts} details=${details} study=${study} />
      ${details.failure && html`<${Failure} failure=${details.failure} />`}
      <div class="columns">
        <${Why} why=${details.why} text=${details.why_text} />
        <${Settings} details=${details} />
        <${TrialCurve} details=${details} />
        <${Attempts} details=${details} />
        <${Files} files=${details.files} />
        <${Lineage} details=${details} study=${study} />
      </div>
      <${Log} details=${details} />
      <section class="card"><h2>Notes</h2><${NoteList} trial=${id} /></section>
      ${queue && html`<${QueueDialog} config=${details.config} fidelity=${details.fidelity.full} onClose=${() => setQueue(false)} />`}
    </div>`;
}

function Edits({ details, onQueue }) {
  return html`
    <button onClick=${onQueue}>Queue this configuration…</button>
    ${details.status === "failed" && html`<${EditButton} what="retry" body=${{ trials: [details.trial] }} done="The trial is queued again.">Retry<//>`}
    ${["running", "waiting"].includes(details.status) && html`
      <${EditButton} what="stop" body=${{ trial: details.trial }} done="The trial was stopped."
                     confirm=${`Stop trial ${details.trial}? It counts as failed. Its worker notices within half a minute.`}>Stop<//>`}`;
}

function Facts({ details, study }) {
  const link = (number) => html`<a href=${study.hashOfTrial(number)}>${number}</a>`;
  const children = details.children.slice(0, 5);
  return html`
    <dl class="tiles">
      <div><dt>Value</dt><dd>${number(details.value)}</dd>
        <dd class="note">${details.place ? `${details.place} of ${details.of} on its rung` : `${details.direction}s`}</dd></div>
      <div><dt><bdi>${visible(details.fidelity.name)}</bdi></dt><dd>${number(details.fidelity.value)}</dd><dd class="note">of ${number(details.fidelity.full)}</dd></div>
      <div><dt>Place</dt><dd>rung ${details.rung ?? "–"}</dd><dd class="note">${details.bracket === null ? "no bracket" : `bracket ${details.bracket}`}</dd></div>
      <div><dt>Origin</dt><dd><${Origin} word=${details.origin} /></dd><dd class="note">${details.why.outcome}</dd></div>
      <div><dt>Continues</dt><dd>${details.parent === null ? "nothing" : link(details.parent)}</dd>
        <dd class="note">${children.length ? html`continued by ${children.map((one, i) => [i ? ", " : "", link(one)])}` : "not continued"}</dd></div>
    </dl>`;
}

function Why({ why, text }) {
  return html`
    <section class="card">
      <h2>Why</h2>
      <p>${visible(why.sentence)}</p>
      <table class="pairs">
        <thead class="visually-hidden"><tr><th>What</th><th>Explanation</th></tr></thead>
        <tbody>${facts(text).map(([label, said]) => html`
          <tr><th scope="row" class="soft whole">${label}</th><td><bdi>${visible(said)}</bdi></td></tr>`)}</tbody>
      </table>
    </section>`;
}

/** The lines of an explanation as pairs: a label, and what is said. */
function facts(text) {
  const lines = text.split("\n").slice(1).map((line) => /^(\S*)\s+(.*)$/.exec(line));
  return lines.filter((match) => match !== null).map((match) => [match[1], match[2]]);
}

function Settings({ details }) {
  return html`
    <section class="card">
      <h2>Configuration</h2>
      <table class="pairs">
        <thead><tr><th scope="col">Parameter</th><th scope="col" class="number">Value</th><th scope="col">Prior</th></tr></thead>
        <tbody>${Object.entries(details.config).map(([name, value]) => html`
          <tr><th scope="row"><bdi>${visible(name)}</bdi></th><td class="mono number"><bdi>${setting(value)}</bdi></td>
            <td class="mono faint"><bdi>${name in details.prior ? setting(details.prior[name]) : ""}</bdi></td></tr>`)}
          ${Object.entries(details.metrics).map(([name, value]) => html`
          <tr><th scope="row" class="soft"><bdi>${visible(name)}</bdi> <span class="faint">(told)</span></th><td class="mono number"><bdi>${setting(value)}</bdi></td><td></td></tr>`)}
        </tbody>
      </table>
    </section>`;
}

/** Where the configuration comes from: the chain of trials that led to it, the oldest first. */
function Lineage({ details, study }) {
  const { lineage } = details;
  if (!lineage || lineage.trial.length < 2) return null;
  return html`
    <section class="card">
      <h2>Ancestry</h2>
      <p class="soft">From the oldest ancestor to this trial; each generation is a new configuration.</p>
      <div class="scroll-y" tabindex="0" role="region" aria-label="Ancestry">
        <table class="pairs">
          <thead><tr><th scope="col">Trial</th><th scope="col">Generation</th><th scope="col">Origin</th><th scope="col" class="number">Value</th></tr></thead>
          <tbody>${lineage.trial.map((one, i) => html`
            <tr aria-current=${one === details.trial ? "true" : null}><th scope="row"><a href=${study.hashOfTrial(one)}>${one}</a></th>
              <td>${lineage.generation[i]}</td><td><${Origin} word=${lineage.origin[i]} /></td>
              <td class="number">${number(study.table.cell("value", one))}</td></tr>`)}
          </tbody>
        </table>
      </div>
    </section>`;
}

function Attempts({ details }) {
  return html`
    <section class="card">
      <h2>Attempts</h2>
      ${details.attempts.length === 0
        ? html`<p class="soft">The result was brought from elsewhere.</p>`
        : html`
          <table class="pairs">
            <thead><tr><th scope="col">#</th><th scope="col">End</th><th scope="col">Began</th><th scope="col">Took</th><th scope="col">Worker</th></tr></thead>
            <tbody>${details.attempts.map((one) => html`
              <tr><th scope="row">${one.attempt}</th>
                <td class="whole">${one.kind ?? one.failure ?? (one.ended ? "succeeded" : "running")}</td>
                <td class="soft">${moment(one.began)}</td>
                <td class="nowrap">${one.ended ? duration((new Date(one.ended) - new Date(one.began)) / 1000) : "–"}</td>
                <td class="soft"><bdi>${visible(one.worker)}</bdi></td></tr>`)}
            </tbody>
          </table>`}
      ${details.remarks.map((text) => html`<p class="soft">Remark: <bdi>${visible(text)}</bdi></p>`)}
    </section>`;
}

function Files({ files }) {
  if (files.length === 0) return null;
  return html`
    <section class="card">
      <h2>Files</h2>
      <div class="scroll-y" tabindex="0" role="region" aria-label="Files">
        <table class="pairs">
          <thead><tr><th scope="col">Name</th><th scope="col" class="number">Size</th><th scope="col">Changed</th></tr></thead>
          <tbody>${files.map((one) => html`
            <tr><th scope="row" class="mono"><bdi>${visible(one.name)}</bdi></th>
              <td class="number">${one.link ? "link" : bytes(one.size)}</td><td class="soft nowrap">${one.at === null ? "" : moment(one.at)}</td></tr>`)}
          </tbody>
        </table>
      </div>
    </section>`;
}

function Failure({ failure }) {
  return html`
    <section class="card failure">
      <h2>Failed: ${visible(failure.kind)}</h2>
      <p class="reason"><bdi>${failure.reason}</bdi></p>
      ${failure.advice && html`<p class="soft">${visible(failure.advice)}</p>`}
      ${failure.traceback && html`<pre class="mono" tabindex="0"><bdi>${failure.traceback}</bdi></pre>`}
    </section>`;
}

function Log({ details }) {
  const study = useStudy();
  const source = useSource();
  const last = details.attempts.at(-1)?.attempt ?? 0;
  const [attempt, setAttempt] = useState(last);
  const [text, setText] = useState(null);
  useEffect(() => setAttempt(last), [details.trial, last]);
  useEffect(() => {
    let current = true;
    if (attempt > 0 && source.live) source.log(study.id, details.trial, attempt).then((found) => current && setText(found), () => current && setText(""));
    return () => {
      current = false;
    };
  }, [details, attempt]);
  if (details.logs.length === 0) return null;
  return html`
    <section class="card">
      <div class="bar">
        <h2>End of the log</h2>
        ${details.attempts.length > 1 && html`
          <label>Attempt <select value=${attempt} onChange=${(event) => setAttempt(Number(event.target.value))}>
            ${details.attempts.map((one) => html`<option value=${one.attempt}>${one.attempt}</option>`)}
          </select></label>`}
      </div>
      ${text ? html`<pre class="mono log" tabindex="0"><bdi>${text}</bdi></pre>` : html`<p class="soft">${text === null ? "Reading the log…" : "The log is empty."}</p>`}
    </section>`;
}
