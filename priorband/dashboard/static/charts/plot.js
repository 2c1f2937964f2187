// A chart with two axes: uPlot lays it out and draws the axes, the caller paints the rest.

import uPlot from "../vendor/uPlot.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../preact.js";
import { ChartFrame } from "../chart-frame.js";
import { color, useTheme } from "../theme.js";
import { number } from "../format.js";
import { useWidth } from "./use-size.js";
import { FONT } from "./paint.js";
import { logTicks } from "./ranges.js";

const REACH = 28; // pixels from the pointer within which a point is found

/**
 * Props, besides those of ChartFrame:
 *   x, y      the axes: { range: [low, high], log, label, format, ticks }
 *   points    { x, y }: what the pointer and the arrow keys find, in the order of the keys
 *   paint     (plot, context) => void: draws on the canvas
 *   drawn     what the drawing depends on; it is painted again when one of these changes
 *   height    pixels
 *   right     room for names at the right, in pixels
 */
export function Plot(props) {
  const { x, y, points, describe, open, paint, drawn, height = 240, right = 16 } = props;
  const [at, setAt] = useState(null);
  const box = useRef(null);
  const plot = useRef(null);
  const painter = useRef(paint);
  painter.current = paint;
  const found = useRef({ points, setAt, open });
  found.current = { points, setAt, open };
  useEffect(() => setAt(null), [points]);
  const shown = at !== null && points && at < points.x.length ? at : null;
  return html`
    <${ChartFrame} title=${props.title} summary=${props.summary} tools=${props.tools} empty=${props.empty}
        rows=${props.rows} count=${points ? points.x.length : 0} describe=${describe} cursor=${setAt} open=${open}>
      <${Drawing} box=${box} plot=${plot} x=${x} y=${y} height=${height} right=${right} painter=${painter}
                  found=${found} drawn=${drawn} />
      ${shown !== null && plot.current && html`<${Tip} plot=${plot.current} x=${points.x[shown]} y=${points.y[shown]} text=${describe(shown)} />`}
      ${props.after}
    <//>`;
}

function Drawing({ box, plot, x, y, height, right, painter, found, drawn }) {
  const width = useWidth(box);
  const theme = useTheme();
  const key = JSON.stringify([x, y, height, right, theme]);
  useLayoutEffect(() => {
    if (width === 0) return undefined;
    const made = new uPlot(options({ x, y, width, height, right, painter, found }), frameData(x, y), box.current);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [width, key]);
  useEffect(() => plot.current?.redraw(false, false), drawn);
  return html`<div class="plot" aria-hidden="true" ref=${box} data-height=${height}
                   onMouseLeave=${() => found.current.setAt(null)}></div>`;
}

function frameData(x, y) {
  return [[x.range[0], x.range[1]], [y.range[0], y.range[1]]];
}

function options({ x, y, width, height, right, painter, found }) {
  return {
    width,
    height,
    padding: [10, right, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false }, x: false, y: false },
    scales: {
      x: { time: false, distr: x.log ? 3 : 1, range: () => x.range },
      y: { distr: y.log ? 3 : 1, range: () => y.range },
    },
    axes: [axis(x, "x", width), axis(y, "y", width)],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: {
      draw: [(plot) => painter.current(plot, plot.ctx)],
      ready: [(plot) => listen(plot, found)],
    },
  };
}

function axis(given, side, width) {
  const format = given.format ?? ((value) => number(value, 3));
  const base = {
    stroke: color("axis"),
    font: FONT,
    labelFont: FONT,
    label: given.label,
    labelSize: side === "x" ? 18 : 16,
    labelGap: 0,
    grid: { stroke: color("grid"), width: 1 },
    ticks: { show: false },
    gap: side === "x" ? 6 : 4,
    size: side === "x" ? 26 : (plot, values) => Math.max(28, 10 + 6.2 * Math.max(0, ...(values ?? []).map((text) => text.length))),
    space: side === "x" ? (width < 500 ? 64 : 80) : 36,
    values: (plot, splits) => splits.map((value) => (value === null ? "" : format(value))),
  };
  const own = given.ticks ?? (given.log ? logTicks(given.range, side === "x" ? Math.max(2, width / 110) : 5) : null);
  if (own) Object.assign(base, { splits: () => own, filter: (plot, splits) => splits });
  return base;
}

/** The pointer finds the nearest point, and a click opens it. */
function listen(plot, found) {
  const nearest = (event) => {
    const { points } = found.current;
    if (!points) return null;
    const box = plot.over.getBoundingClientRect();
    const left = event.clientX - box.left;
    const top = event.clientY - box.top;
    let best = null;
    let least = REACH ** 2;
    for (let i = 0; i < points.x.length; i++) {
      const dx = plot.valToPos(points.x[i], "x") - left;
      if (dx * dx > least) continue;
      const py = Math.min(Math.max(plot.valToPos(points.y[i], "y"), 0), box.height);
      const distance = dx * dx + (py - top) ** 2;
      if (distance <= least) [best, least] = [i, distance];
    }
    return best;
  };
  plot.over.addEventListener("mousemove", (event) => found.current.setAt(nearest(event)));
  plot.over.addEventListener("click", (event) => {
    const at = nearest(event);
    if (at !== null) found.current.open?.(at);
  });
}

/** The mark of a point, and what it says. */
function Tip({ plot, x, y, text }) {
  const ratio = globalThis.devicePixelRatio || 1;
  const { left, top, width, height } = plot.bbox;
  const px = left / ratio + plot.valToPos(x, "x");
  const py = top / ratio + Math.min(Math.max(plot.valToPos(y, "y"), 0), height / ratio);
  const flip = px > (left + width / 2) / ratio;
  const below = py < 60;
  return html`
    <i class="plot-mark" aria-hidden="true" ref=${place(px, py)}></i>
    <div class=${`plot-tip${flip ? " flip" : ""}${below ? " below" : ""}`} aria-hidden="true" ref=${place(px, py)}>${text}</div>`;
}

export function place(left, top) {
  return (element) => {
    if (element) {
      element.style.left = `${left}px`;
      element.style.top = `${top}px`;
    }
  };
}
