// One study: its tabs, the filter that all views obey, and the view.

import { html, useEffect, useMemo } from "./preact.js";
import { hashOf, navigate, setParams } from "./location.js";
import { useKeys } from "./keys.js";
import { StudyContext, useFilteredRows, useLiveStudy, useSource } from "./store.js";
import { TopBar } from "./top-bar.js";
import { FilterBar } from "./filter-bar.js";
import { VIEWS } from "./views/index.js";
import { visible } from "./format.js";

export function StudyPage({ place, onHelp }) {
  const source = useSource();
  const live = useLiveStudy(place.study);
  const filter = place.params.filter ?? "";
  const filtered = useFilteredRows(live.table, filter);
  const tabs = VIEWS.filter((one) => !one.hidden && (source.live || !one.onlyLive));
  const view = VIEWS.find((one) => one.id === place.view) ?? VIEWS[0];
  const go = (id, rest = []) => navigate({ study: place.study, view: id, rest, params: kept(place.params) });
  useEffect(() => {
    document.title = `${view.title} – ${live.summary ? visible(live.summary.name) : "study"} – priorband`;
  }, [view.id, live.summary?.name]);
  useKeys(
    [
      ...tabs.map((one) => ({ key: `g ${one.key}`, label: one.title, group: "Go to", run: () => go(one.id) })),
      { key: "/", label: "Type a filter", group: "Study", run: () => document.getElementById("filter")?.focus() },
    ],
    [place.study, JSON.stringify(place.params)],
  );
  const context = useMemo(
    () => ({
      id: place.study,
      summary: live.summary,
      overview: live.summary?.overview ?? null,
      problem: live.problem,
      table: live.table,
      rows: filtered.rows,
      filter: filtered.text,
      params: place.params,
      rest: place.rest,
      setParams,
      openTrial: (number) => go("trial", [number]),
      hashOfTrial: (number) => hashOf({ study: place.study, view: "trial", rest: [number], params: kept(place.params) }),
      go,
    }),
    [place, live.summary, live.problem, live.table, filtered.rows, filtered.text],
  );
  const error = live.error ?? live.summary?.error;
  const ready = live.table !== null && live.problem !== null && live.summary?.overview;
  return html`
    <${TopBar} study=${live.summary ?? { name: "", where: "" }} state=${live.state} onHelp=${onHelp} />
    <nav class="tabs" aria-label="Views">
      ${tabs.map((one) => html`
        <a href=${hashOf({ study: place.study, view: one.id, params: kept(place.params) })}
           aria-current=${one.id === view.id ? "page" : null}>${one.title}</a>`)}
    </nav>
    ${live.table !== null && !view.noFilter && html`
      <${FilterBar} table=${live.table} text=${filter} filtered=${filtered} />`}
    <main class="page" id="main" tabindex="-1" aria-label=${view.title}>
      ${error && html`<p class="error" role="alert">${visible(error)}</p>`}
      ${ready
        ? html`<${StudyContext.Provider} value=${context}><${view.component} key=${view.id} /><//>`
        : !error && html`<p class="soft" role="status">Reading the study…</p>`}
    </main>`;
}

/** The options that go along from view to view. */
function kept(params) {
  return { filter: params.filter, sort: params.sort };
}
