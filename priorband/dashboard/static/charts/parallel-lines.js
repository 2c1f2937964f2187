// Draws the lines of parallel coordinates on a canvas, some thousand at a time, so that the page
// answers meanwhile. The worst are drawn first, so the best stay visible.

import { color } from "../theme.js";

const SHADES = 12;
const PART = 2500; // lines between two looks at the clock: few frames, also on a busy machine
const SLICE = 50; // milliseconds of drawing before the browser may show it

/** Draw the lines of rows; returns a function that stops it. Sets `data-drawn` when all is drawn. */
export function paintLines(canvas, { width, height, xs, places, rows, ranks, top, bottom, faint = false, marked = false }) {
  const ratio = globalThis.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  canvas.dataset.drawn = "";
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const shades = marked ? [color("text")] : faint ? [color("border")] : mixed(color("heat-low"), color("heat-high"));
  const order = faint || marked ? [rows] : byShade(rows, ranks);
  context.lineWidth = marked ? 2.5 : 1;
  const length = height - top - bottom;
  const count = xs.length;
  const trace = (row) => {
    let pen = false;
    for (let i = 0; i < count; i++) {
      const at = places[i][row];
      const y = at < 0 ? height - bottom + 12 : top + (1 - at) * length;
      if (pen) context.lineTo(xs[i], y);
      else context.moveTo(xs[i], y);
      pen = true;
    }
  };
  let shade = 0;
  let next = 0;
  let frame = 0;
  const began = performance.now();
  const work = () => {
    const until = performance.now() + SLICE;
    while (shade < order.length) {
      const own = order[shade];
      context.strokeStyle = shades[shade];
      context.globalAlpha = marked ? 1 : alphaOf(own.length, faint);
      while (next < own.length) {
        const end = Math.min(next + PART, own.length);
        for (; next < end; next++) {
          context.beginPath();
          trace(own[next]);
          context.stroke();
        }
        if (performance.now() > until) {
          frame = requestAnimationFrame(work);
          return;
        }
      }
      shade += 1;
      next = 0;
    }
    canvas.dataset.drawn = String(rows.length);
    canvas.dataset.milliseconds = String(Math.round(performance.now() - began));
  };
  work();
  return () => cancelAnimationFrame(frame);
}

function alphaOf(count, faint) {
  const base = Math.min(1, Math.max(0.04, 8 / Math.sqrt(count + 1)));
  return faint ? Math.min(0.5, base) : base;
}

/** Rows by how good they are, the worst first. The darkest shades are for the best few percent. */
function byShade(rows, ranks) {
  const counts = new Uint32Array(SHADES);
  const shadeOf = (row) => (ranks[row] < 0 ? 0 : SHADES - 1 - Math.min(SHADES - 1, Math.floor(ranks[row] ** 0.4 * SHADES)));
  for (const row of rows) counts[shadeOf(row)] += 1;
  const found = Array.from(counts, (count) => new Uint32Array(count));
  const used = new Uint32Array(SHADES);
  for (const row of rows) {
    const shade = shadeOf(row);
    found[shade][used[shade]++] = row;
  }
  return found;
}

/** Shades from one colour to another. Both are written as #rrggbb. */
function mixed(from, to) {
  const parts = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const [a, b] = [parts(from), parts(to)];
  return Array.from({ length: SHADES }, (_, i) => {
    const share = (i / (SHADES - 1)) ** 1.5;
    return `rgb(${a.map((one, k) => Math.round(one + share * (b[k] - one))).join(" ")})`;
  });
}
