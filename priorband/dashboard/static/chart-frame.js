// The frame of every chart: a title, the drawing, and the same three ways to read it without seeing
// it. The drawing is focusable; arrow keys move through its points and say each one; its data is a
// table that a button (or `t`) shows.

import { html, useEffect, useRef, useState } from "./preact.js";
import { announce } from "./announce.js";
import { setting } from "./format.js";

const STEPS = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 };
const MOST_ROWS = 1000;

/**
 * Props:
 *   title     what the chart shows
 *   summary   one sentence with its message, for the label of the drawing and below the title
 *   count     how many points the arrow keys go through
 *   describe  (i) => text of a point, for the live region
 *   cursor    (i or null) => void: mark a point in the drawing
 *   open      (i) => void: what Enter does with a point, such as opening its trial
 *   rows      () => { head: [texts], rows: [[cells]] }: the data as a table
 *   tools     controls at the right of the title
 *   empty     a text instead of the drawing, if there is nothing to draw
 *   children  the drawing
 */
export function ChartFrame(props) {
  const { title, summary, count = 0, describe, cursor, open, rows, tools, empty, children } = props;
  const [at, setAt] = useState(null);
  const [asTable, setAsTable] = useState(false);
  const drawing = useRef(null);
  useEffect(() => {
    if (at !== null && at >= count) setAt(null);
  }, [count]);

  const move = (to) => {
    if (count === 0) return;
    const next = Math.min(Math.max(to, 0), count - 1);
    setAt(next);
    cursor?.(next);
    if (describe) announce(describe(next));
  };
  const onKeyDown = (event) => {
    if (event.target !== drawing.current) return;
    if (event.key in STEPS) move(at === null ? 0 : at + STEPS[event.key]);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(count - 1);
    else if (event.key === "Enter" && at !== null && open) open(at);
    else if (event.key === "Escape") {
      setAt(null);
      cursor?.(null);
    } else if (event.key === "t" && rows) setAsTable(!asTable);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const label = `${title}. ${summary ?? ""} ${count ? `${count} points; arrow keys go through them.` : ""}`;
  return html`
    <figure class="chart">
      <figcaption class="chart-head">
        <div>
          <h2>${title}</h2>
          ${summary && html`<p class="soft">${summary}</p>`}
        </div>
        <div class="chart-tools">
          ${tools}
          ${rows && !empty && html`
            <button class="quiet" aria-pressed=${asTable} onClick=${() => setAsTable(!asTable)}>
              ${asTable ? "Chart" : "Table"}
            </button>`}
        </div>
      </figcaption>
      ${empty
        ? html`<p class="chart-empty soft">${empty}</p>`
        : asTable
          ? html`<${DataTable} title=${title} ...${rows()} />`
          : html`
            <div ref=${drawing} class="chart-drawing" role="application" tabindex="0"
                 aria-roledescription="chart" aria-label=${label}
                 onKeyDown=${onKeyDown} onBlur=${() => cursor?.(null)}>
              ${children}
            </div>`}
    </figure>`;
}

/** The data of a chart as a table. */
export function DataTable({ title, head, rows }) {
  const shown = rows.slice(0, MOST_ROWS);
  return html`
    <div class="data-table" tabindex="0" role="region" aria-label=${`${title}, as a table`}>
      <table>
        <thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>
          ${shown.map((row) => html`<tr>${row.map((cell) => html`
            <td class=${typeof cell === "number" ? "number" : ""}>${setting(cell)}</td>`)}</tr>`)}
        </tbody>
      </table>
      ${rows.length > shown.length && html`
        <p class="soft">The first ${shown.length} of ${rows.length} rows.</p>`}
    </div>`;
}
