// Draws what workers did when: one row a worker, one bar an attempt, the plan behind.

import { color } from "../theme.js";
import { FONT } from "./paint.js";

export const ROW = 22;
export const HEAD = 6;
const STATES = { running: "status-running", succeeded: "series-1", failed: "status-failed", lost: "status-failed", returned: "status-waiting", overtaken: "status-waiting" };

/** Draw spans on a canvas. `view` is [first second, last second]. */
export function paintGantt(canvas, { width, height, left, spans, rowOf, view, plan, marked, passes }) {
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left, height);
  context.clip();
  const x = (seconds) => left + ((seconds - view[0]) / (view[1] - view[0])) * (width - left);
  if (plan) paintPlan(context, plan, x, width);
  const shades = [0.35, 0.5, 0.65, 0.8, 0.95];
  const top = Math.max(1, ...spans.rung);
  const names = spans.endings.map((word) => color(STATES[word] ?? "text-faint"));
  const colors = { startup: color("text-faint"), line: color("raised"), bad: color("status-failed") };
  for (let i = 0; i < spans.start.length; i++) {
    const [a, b] = [x(spans.start[i]), x(spans.end[i])];
    if (b < left || a > width) continue;
    const y = HEAD + rowOf[spans.worker[i]] * ROW + 4;
    const word = spans.endings[spans.ending[i]];
    const wide = Math.max(b - a - 0.5, 0.75);
    const dim = passes !== null && !passes[spans.trial[i]];
    context.globalAlpha = dim ? 0.08 : word === "succeeded" ? shades[Math.round((Math.max(spans.rung[i], 0) / top) * 4)] : 0.9;
    if (plan && wide > 1) covered(context, a, y, wide, colors.line);
    context.fillStyle = context.strokeStyle = names[spans.ending[i]];
    if (word === "lost" || word === "overtaken" || word === "returned") outlined(context, a, y, wide);
    else context.fillRect(a, y, wide, ROW - 8);
    if (word === "failed" && wide > 3) crossed(context, a, y, wide, colors.line);
    if (!dim && spans.startup[i] > 0 && word !== "lost") {
      context.globalAlpha = 0.85;
      context.fillStyle = colors.startup;
      context.fillRect(a, y + ROW - 11, Math.min(wide, Math.max(x(spans.start[i] + spans.startup[i]) - a, 0)), 3);
    }
    if (wide > 26 && !dim) label(context, spans.trial[i], a, y, colors.line, word);
  }
  if (marked !== null) mark(context, spans, marked, x, rowOf);
  context.restore();
}

/** Hide the plan below a bar, whose colour is translucent. */
function covered(context, a, y, wide, fill) {
  const alpha = context.globalAlpha;
  context.globalAlpha = 1;
  context.fillStyle = fill;
  context.fillRect(a, y, wide, ROW - 8);
  context.globalAlpha = alpha;
}

function paintPlan(context, plan, x, width) {
  context.save();
  context.strokeStyle = color("border-strong");
  context.fillStyle = color("surface");
  context.lineWidth = 1;
  plan.worker.forEach((worker, i) => {
    const [a, b] = [x(plan.start[i]), x(plan.end[i])];
    if (b < 0 || a > width) return;
    const y = HEAD + worker * ROW + 1.5;
    context.fillRect(a, y, b - a, ROW - 3);
    context.strokeRect(a + 0.5, y, Math.max(b - a - 1, 0.5), ROW - 3);
  });
  context.restore();
}

/** A bar of which nothing came: its outline, with a cross at its end. */
function outlined(context, a, y, wide) {
  context.lineWidth = 1.25;
  context.strokeRect(a + 0.6, y + 0.6, Math.max(wide - 1.2, 0.6), ROW - 9.2);
  const end = a + wide;
  context.beginPath();
  context.moveTo(end - 5, y + 3);
  context.lineTo(end, y + ROW - 11);
  context.moveTo(end, y + 3);
  context.lineTo(end - 5, y + ROW - 11);
  context.stroke();
}

function crossed(context, a, y, wide, stroke) {
  context.save();
  context.strokeStyle = stroke;
  context.globalAlpha = 0.8;
  context.beginPath();
  for (let at = a + 3; at < a + wide; at += 5) {
    context.moveTo(at, y + ROW - 8);
    context.lineTo(Math.min(at + 5, a + wide), y);
  }
  context.stroke();
  context.restore();
}

function label(context, trial, a, y, fill, word) {
  context.globalAlpha = 1;
  context.font = FONT;
  context.fillStyle = word === "lost" || word === "returned" ? color("text") : fill;
  context.textBaseline = "middle";
  context.fillText(String(trial), Math.max(a, 0) + 4, y + (ROW - 8) / 2 + 0.5);
}

function mark(context, spans, i, x, rowOf) {
  const [a, b] = [x(spans.start[i]), x(spans.end[i])];
  context.globalAlpha = 1;
  context.lineWidth = 2;
  context.strokeStyle = color("text");
  context.strokeRect(a - 1, HEAD + rowOf[spans.worker[i]] * ROW + 2, Math.max(b - a, 2) + 2, ROW - 4);
}

/** The span at a point, or null. */
export function spanAt({ left, width, spans, rowOf, view }, px, py) {
  const row = Math.floor((py - HEAD) / ROW);
  const second = view[0] + ((px - left) / (width - left)) * (view[1] - view[0]);
  const slack = ((view[1] - view[0]) / (width - left)) * 2;
  let found = null;
  for (let i = 0; i < spans.start.length; i++) {
    if (rowOf[spans.worker[i]] === row && spans.start[i] - slack <= second && spans.end[i] + slack >= second) found = i;
  }
  return found;
}
