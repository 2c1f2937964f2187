// The list of studies: best value, progress and estimate of each.

import { html, useEffect, useState } from "./preact.js";
import { hashOf, navigate } from "./location.js";
import { useKeys } from "./keys.js";
import { useStudies } from "./store.js";
import { TopBar } from "./top-bar.js";
import { Progress } from "./progress.js";
import { duration, moment, number, visible, whole } from "./format.js";

export function StudyList({ onHelp }) {
  const { studies, state, error } = useStudies();
  const [text, setText] = useState("");
  useEffect(() => {
    document.title = "Studies – priorband";
  }, []);
  useKeys([
    { key: "/", label: "Search the studies", group: "Studies", run: () => document.getElementById("search").focus() },
    { key: "j", label: "Next study", group: "Studies", run: () => focusStudy(1) },
    { key: "k", label: "Previous study", group: "Studies", run: () => focusStudy(-1) },
  ]);
  const shown = (studies ?? []).filter((one) => `${one.name} ${one.where}`.toLowerCase().includes(text.toLowerCase()));
  return html`
    <${TopBar} state=${state} onHelp=${onHelp} />
    <main class="page" id="main" tabindex="-1">
      <div class="bar">
        <h1>Studies</h1>
        <span class="soft">${studies ? whole(studies.length) : ""}</span>
        <span class="space"></span>
        <label class="visually-hidden" for="search">Search the studies</label>
        <input id="search" type="search" placeholder="Search" value=${text}
               onInput=${(event) => setText(event.target.value)} />
      </div>
      ${error && html`<p class="error" role="alert">${error}</p>`}
      ${studies && shown.length === 0 && html`<p class="soft">No study is here${text && " that matches the search"}.</p>`}
      ${shown.length > 0 && html`
        <div class="scroll-x" tabindex="0" role="region" aria-label="Studies">
          <table class="list">
            <thead><tr>
              <th scope="col">Study</th><th scope="col" class="number">Best value</th>
              <th scope="col">Progress</th><th scope="col" class="number">Trials</th>
              <th scope="col" class="number">Running</th><th scope="col" class="number">Failed</th>
              <th scope="col" class="number">Time left</th><th scope="col">Created</th>
            </tr></thead>
            <tbody>${shown.map((one) => html`<${StudyRow} key=${one.id} study=${one} />`)}</tbody>
          </table>
        </div>`}
    </main>`;
}

function StudyRow({ study }) {
  const { overview, error } = study;
  const open = () => navigate({ study: study.id });
  const name = html`
    <th scope="row"><a class="study-link" href=${hashOf({ study: study.id })}><bdi>${visible(study.name)}</bdi></a>
      <div class="where faint"><bdi>${visible(study.where)}</bdi></div></th>`;
  if (!overview) {
    return html`<tr onClick=${open}>${name}<td colspan="7" class=${error ? "bad" : "soft"}>${error ? visible(error) : "Reading…"}</td></tr>`;
  }
  const best = overview.best_in_full ?? overview.best;
  const { trials } = overview;
  return html`
    <tr onClick=${open}>
      ${name}
      <td class="number strong">${best ? number(best.value) : "–"}${best && !overview.best_in_full && html`
        <span class="faint" title="Not yet trained in full"> at ${number(best.fidelity)}</span>`}</td>
      <td><${Progress} share=${overview.share} over=${overview.over} running=${trials.running} /></td>
      <td class="number">${whole(trials.ended)}</td>
      <td class="number">${trials.running || "–"}</td>
      <td class=${`number ${trials.failed ? "bad" : ""}`}>${trials.failed || "–"}</td>
      <td class="number">${timeLeft(overview)}</td>
      <td class="soft nowrap">${moment(overview.created)}</td>
    </tr>`;
}

/** The estimate of the time left, in words. */
export function timeLeft(overview) {
  if (overview.over) return "done";
  if (overview.seconds_left === null || overview.workers === 0) return "–";
  return `≈ ${duration(overview.seconds_left)}`;
}

function focusStudy(step) {
  const links = [...document.querySelectorAll(".study-link")];
  const at = links.indexOf(document.activeElement);
  links[Math.min(Math.max(at + step, 0), links.length - 1)]?.focus();
}
