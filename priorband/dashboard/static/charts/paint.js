// What is painted on a chart's canvas, in the units of its axes.

import { color } from "../theme.js";
import { spreadApart } from "./ranges.js";

export const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/** The pixel ratio of a chart, by which sizes are multiplied. */
export function ratio() {
  return globalThis.devicePixelRatio || 1;
}

/** A function from values to pixels on the canvas of a uPlot chart. */
export function toPixels(plot) {
  return [(value) => plot.valToPos(value, "x", true), (value) => plot.valToPos(value, "y", true)];
}

/** Paint within the axes only. */
export function clipped(plot, context, paint) {
  const { left, top, width, height } = plot.bbox;
  context.save();
  context.beginPath();
  context.rect(left - 1, top - 2, width + 2, height + 4);
  context.clip();
  paint();
  context.restore();
}

/**
 * A line through points: `stepped` if a value holds until the next. `null` and NaN break it. With
 * `until`, the last value holds to there.
 */
export function line(plot, context, xs, ys, { stroke, width = 1.5, dash = [], stepped = false, until = null, alpha = 1 }) {
  const [x, y] = toPixels(plot);
  const scale = ratio();
  context.save();
  context.globalAlpha = alpha;
  context.strokeStyle = stroke;
  context.lineWidth = width * scale;
  context.lineJoin = "round";
  context.setLineDash(dash.map((part) => part * scale));
  context.beginPath();
  let open = false;
  let lastY = 0;
  for (let i = 0; i < xs.length; i++) {
    if (ys[i] === null || !Number.isFinite(ys[i])) {
      open = false;
      continue;
    }
    const px = x(xs[i]);
    const py = y(ys[i]);
    if (!open) context.moveTo(px, py);
    else {
      if (stepped) context.lineTo(px, lastY);
      context.lineTo(px, py);
    }
    open = true;
    lastY = py;
  }
  if (open && until !== null) context.lineTo(x(until), lastY);
  context.stroke();
  context.restore();
}

/** Dots, each of one colour by its code. Values beyond the axis stay at its edge, as small ticks. */
export function dots(plot, context, xs, ys, { fills, codes = null, size = 2.5, alpha = 0.6 }) {
  const [x, y] = toPixels(plot);
  const { top, height } = plot.bbox;
  const scale = ratio();
  const side = size * scale;
  context.save();
  context.globalAlpha = alpha;
  for (let code = 0; code < fills.length; code++) {
    context.fillStyle = fills[code];
    for (let i = 0; i < xs.length; i++) {
      if ((codes !== null && codes[i] !== code) || !Number.isFinite(ys[i])) continue;
      const py = y(ys[i]);
      const px = x(xs[i]) - side / 2;
      if (py < top) context.fillRect(px, top - scale, side, 2 * scale);
      else if (py > top + height) context.fillRect(px, top + height - scale, side, 2 * scale);
      else context.fillRect(px, py - side / 2, side, side);
    }
  }
  context.restore();
}

/** Names at the right of the ends of lines, moved apart: [{ y, text, fill }]. */
export function endLabels(plot, context, labels) {
  const [, y] = toPixels(plot);
  const scale = ratio();
  const { left, top, width, height } = plot.bbox;
  const at = spreadApart(labels.map((one) => Math.min(Math.max(y(one.y), top), top + height)), 14 * scale, top + 4 * scale, top + height - 2 * scale);
  context.save();
  context.font = scaledFont(scale);
  context.textAlign = "left";
  context.textBaseline = "middle";
  labels.forEach((one, i) => {
    context.fillStyle = one.fill;
    context.fillText(one.text, left + width + 6 * scale, at[i]);
  });
  context.restore();
}

/** Vertical marks with a name at the top, such as a change of the prior: [{ x, text }]. */
export function verticalMarks(plot, context, marks) {
  const [x] = toPixels(plot);
  const scale = ratio();
  const { top, height } = plot.bbox;
  context.save();
  context.strokeStyle = color("text-soft");
  context.fillStyle = color("text-soft");
  context.font = scaledFont(scale);
  context.textAlign = "left";
  context.lineWidth = scale;
  context.setLineDash([3 * scale, 3 * scale]);
  for (const mark of marks) {
    const px = Math.round(x(mark.x)) + 0.5;
    context.beginPath();
    context.moveTo(px, top);
    context.lineTo(px, top + height);
    context.stroke();
    context.fillText(mark.text, px + 4 * scale, top + 10 * scale);
  }
  context.restore();
}

export function scaledFont(scale = ratio(), weight = "") {
  return `${weight} ${11 * scale}px ${FONT.slice(5)}`;
}
