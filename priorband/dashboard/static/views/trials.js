// All trials as a table: sorted by any column, filtered, drawn only where it is looked at.

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../preact.js";
import { announce } from "../announce.js";
import { useKeys } from "../keys.js";
import { useStudy } from "../store.js";
import { sortedRows, sortOf } from "../sorting.js";
import { duration, number, visible } from "../format.js";
import { Origin, Status } from "../words.js";

export const trials = { id: "trials", title: "Trials", key: "t", component: Trials };

const ROW = 28; // pixels, as --row says
const AROUND = 12; // rows drawn above and below those that are seen
const SHOWN = ["trial", "value", "status", "outcome", "fidelity", "rung", "bracket", "origin", "attempts", "seconds", "cost"];
const AFTER = ["parent", "worker", "failure", "reason"];

function Trials() {
  const study = useStudy();
  const { table, rows, params } = study;
  const maximize = study.problem.maximize;
  const sort = sortOf(params.sort, maximize);
  const order = useMemo(() => sortedRows(table, rows, sort, maximize), [table, rows, params.sort]);
  const columns = useMemo(() => shownColumns(table), [table.columns]);
  const [active, setActive] = useState(0);
  const body = useRef(null);
  const view = useViewport(body);
  const first = Math.max(0, Math.floor(view.top / ROW) - AROUND);
  const last = Math.min(order.length, Math.ceil((view.top + view.height) / ROW) + AROUND);

  useEffect(() => setActive((at) => Math.min(at, Math.max(order.length - 1, 0))), [order.length]);
  const go = (to) => {
    const next = Math.min(Math.max(to, 0), order.length - 1);
    if (next < 0) return;
    setActive(next);
    scrollTo(body.current, next);
    announce(described(table, order[next]));
  };
  const sortBy = (name) => {
    const down = sort.column === name ? !sort.down : name === "value" ? maximize : false;
    study.setParams({ sort: `${down ? "-" : ""}${name}` });
    announce(`Sorted by ${name}, ${down ? "descending" : "ascending"}`);
  };
  const page = Math.max(1, Math.floor(view.height / ROW) - 2);
  const onKeyDown = (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, j: 1, k: -1 };
    if (event.target !== body.current) return;
    if (event.key in steps) go(active + steps[event.key]);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(order.length - 1);
    else if (event.key === "Enter" && order.length) study.openTrial(order[active]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  useKeys(
    [
      { key: "j", label: "Go into the table; then j and k, or arrows, move and Enter opens", group: "Trials", run: () => body.current.focus() },
      { key: "v", label: "Sort by value", group: "Trials", run: () => sortBy("value") },
    ],
    [sort.column, sort.down],
  );
  const drawn = [];
  for (let at = first; at < last; at++) drawn.push(at);
  return html`
    <div class="trials" ref=${body} tabindex="0" role="grid" aria-label="Trials" aria-rowcount=${order.length + 1}
         aria-activedescendant=${order.length ? `row-${order[active]}` : null} onKeyDown=${onKeyDown}
         aria-colcount=${columns.length}>
      <div class="trials-sheet" role="presentation">
        <div class="trials-head" role="row" aria-rowindex="1">
          ${columns.map((column) => html`<${HeadCell} column=${column} sort=${sort} sortBy=${sortBy} />`)}
        </div>
        <div class="trials-body" role="rowgroup" ref=${(element) => element && (element.style.height = `${order.length * ROW}px`)}>
          ${drawn.map((at) => html`
            <${Row} key=${order[at]} table=${table} row=${order[at]} at=${at} columns=${columns}
                    active=${at === active} version=${table.version}
                    onOpen=${() => study.openTrial(order[at])} onSelect=${() => setActive(at)} />`)}
        </div>
      </div>
      ${order.length === 0 && html`<p class="soft trials-none">No trial passes the filter.</p>`}
    </div>`;
}

function HeadCell({ column, sort, sortBy }) {
  const sorted = sort.column === column.name;
  return html`
    <div role="columnheader" class=${`cell ${column.align}`} data-width=${column.width}
         aria-sort=${sorted ? (sort.down ? "descending" : "ascending") : "none"}>
      <button tabindex="-1" title=${visible(column.label)} onClick=${() => sortBy(column.name)}>
        <bdi>${visible(column.label)}</bdi>${sorted && html`<span aria-hidden="true">${sort.down ? " ↓" : " ↑"}</span>`}
      </button>
    </div>`;
}

function Row({ table, row, at, columns, active, onOpen, onSelect }) {
  return html`
    <div role="row" id=${`row-${row}`} class=${`trial-row${active ? " active" : ""}`} aria-rowindex=${at + 2}
         aria-selected=${active} ref=${(element) => element && (element.style.transform = `translateY(${at * ROW}px)`)}
         onClick=${onOpen} onMouseDown=${onSelect}>
      ${columns.map((column) => html`
        <div role="gridcell" class=${`cell ${column.align}`} data-width=${column.width}>${column.show(table, row)}</div>`)}
    </div>`;
}

/** The columns that are shown: those with something in them, then the configuration. */
function shownColumns(table) {
  const filled = (name) => table.has(name) && hasContent(table.columns.get(name));
  const own = (names) => names.filter(filled).map((name) => columnFor(table.columns.get(name)));
  const configs = table.group("config").map(columnFor);
  const metrics = table.group("metric").map(columnFor);
  return [...own(SHOWN), ...configs, ...metrics, ...own(AFTER)];
}

function hasContent(column) {
  if (["trial", "status", "value", "fidelity"].includes(column.name)) return true;
  if (column.name === "attempts") return column.data.some((count) => count > 1);
  return column.type[0] === "f" ? column.data.some((x) => !Number.isNaN(x)) : column.data.some((x) => x >= 0);
}

function columnFor(column) {
  const isText = Boolean(column.words);
  const width = { trial: "narrow", rung: "narrow", bracket: "narrow", attempts: "narrow", reason: "wide", worker: "mid", status: "mid", origin: "mid", failure: "mid" }[column.name] ?? (isText ? "mid" : "");
  return { name: column.name, label: column.label, align: isText ? "" : "number", width, show: shower(column) };
}

function shower(column) {
  if (column.name === "status") return (table, row) => html`<${Status} word=${table.cell("status", row)} />`;
  if (column.name === "origin") return (table, row) => html`<${Origin} word=${table.cell("origin", row)} />`;
  if (column.name === "seconds") return (table, row) => duration(table.cell("seconds", row));
  if (column.words) return (table, row) => html`<bdi>${shown(table.cell(column.name, row))}</bdi>`;
  if (column.name === "trial") return (table, row) => String(row);
  return (table, row) => number(table.cell(column.name, row));
}

function shown(word) {
  return word === null ? "" : visible(word);
}

function described(table, row) {
  const value = table.cell("value", row);
  return `Trial ${row}, ${table.cell("status", row)}${value === null ? "" : `, value ${number(value)}`}, ${table.cell("origin", row)}`;
}

function useViewport(element) {
  const [view, setView] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const target = element.current;
    let frame = 0;
    const read = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => setView({ top: target.scrollTop, height: target.clientHeight }));
    };
    const size = new ResizeObserver(read);
    size.observe(target);
    target.addEventListener("scroll", read, { passive: true });
    return () => {
      size.disconnect();
      cancelAnimationFrame(frame);
      target.removeEventListener("scroll", read);
    };
  }, []);
  return view;
}

/** Scroll so that a row is seen below the head. */
function scrollTo(element, at) {
  const top = at * ROW;
  const height = element.clientHeight - 2 * ROW;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top > element.scrollTop + height) element.scrollTop = top - height;
}
