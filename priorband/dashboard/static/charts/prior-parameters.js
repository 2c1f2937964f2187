// What the results say about the belief in each parameter: believed against found, with a verdict.

import { html, useRef, useState } from "../preact.js";
import { ChartFrame } from "../chart-frame.js";
import { cut, number, setting, visible } from "../format.js";
import { Verdict } from "./verdict.js";
import { useWidth } from "./use-size.js";

const ROW = 34;
const WORDS = { helps: ["helps", "help"], neutral: ["is neutral", "are neutral"], harms: ["harms", "harm"] };

export function PriorParameters({ report, parameters }) {
  const all = report.parameters;
  const counts = Object.entries(WORDS).map(([word, [one, many]]) => counted(all.filter((each) => each.verdict === word).length, one, many));
  const [at, setAt] = useState(null);
  const describe = (i) => text(all[i]);
  return html`
    <${ChartFrame} title="Belief and finding, by parameter" summary=${`${counts.join(", ")}. A bar is the effect of the belief on the loss of the best configurations, in standard deviations: left is better.`}
        count=${all.length} describe=${describe} cursor=${setAt}
        rows=${() => ({
          head: ["parameter", "verdict", "believed", "best", "quantile", "odds", "effect", "error", "wants", "looks best", "full trainings"],
          rows: all.map((one) => [one.name, one.verdict, one.believed, one.best, one.quantile, one.odds, one.effect, one.error, one.wants, one.better, one.full_trainings]),
        })}>
      <table class="belief" aria-hidden="true">
        <thead><tr><th>Parameter</th><th>◇ Believed</th><th>● Best found</th><th class="belief-wide">On its range</th><th class="belief-wide">Effect</th><th>Verdict</th></tr></thead>
        <tbody>${all.map((one, i) => html`
          <tr class=${at === i ? "at" : ""} title=${describe(i)}><th><bdi>${cut(visible(one.name), 28)}</bdi></th><td class="mono">${one.verdict === "no belief" ? "–" : cut(setting(one.believed), 16)}</td><td class="mono">${cut(setting(one.best), 16)}</td>
            <td class="belief-wide"><${Range} one=${one} parameter=${parameters.find((other) => other.name === one.name)} /></td>
            <td class="belief-wide"><${Effect} one=${one} all=${all} /></td>
            <td><${Verdict} word=${one.verdict} />${one.wants && one.verdict === "harms" ? html`<span class="soft"> wants ${one.wants}</span>` : ""}</td></tr>`)}</tbody>
      </table>
    <//>`;
}

function counted(count, one, many) {
  return `${count} ${count === 1 ? one : many}`;
}

function text(one) {
  const wants = one.wants ? `, wants ${one.wants}` : "";
  return `${visible(one.name)}: ${one.verdict}${wants}; believed ${setting(one.believed)}, best ${setting(one.best)}${one.effect === null ? "" : `, effect ${number(one.effect, 2)} ± ${number(one.error, 2)}`}`;
}

function Range({ one, parameter }) {
  const box = useRef(null);
  const width = useWidth(box);
  const place = (value) => position(parameter, value) * (width - 12) + 6;
  const known = parameter && position(parameter, one.best) !== null && width > 0;
  return html`<div ref=${box} class="belief-box">${known && html`
    <svg width=${width} height=${ROW - 14}><line class="grid-line zero" x1="6" x2=${width - 6} y1="10" y2="10" />
      ${one.verdict !== "no belief" && position(parameter, one.believed) !== null && html`<path class="believed" d=${`M${place(one.believed)} 3l6 7l-6 7l-6 -7Z`} />`}
      <circle class="dot-clear" cx=${place(one.best)} cy="10" r="4.5" /></svg>`}</div>`;
}

/** Where on its range a value is, from 0 to 1; null if that is not known. */
function position(parameter, value) {
  if (value === null || value === undefined) return null;
  if (parameter.choices) {
    const at = parameter.choices.findIndex((one) => JSON.stringify(one) === JSON.stringify(value));
    return at < 0 ? null : parameter.choices.length === 1 ? 0.5 : at / (parameter.choices.length - 1);
  }
  if (typeof value !== "number" || parameter.low === undefined) return null;
  return parameter.log ? Math.log(value / parameter.low) / Math.log(parameter.high / parameter.low) : (value - parameter.low) / (parameter.high - parameter.low);
}

function Effect({ one, all }) {
  const box = useRef(null);
  const width = useWidth(box);
  if (one.effect === null) return html`<div ref=${box} class="belief-box"></div>`;
  const most = Math.max(0.2, ...all.map((other) => Math.abs(other.effect ?? 0) + (other.error ?? 0)));
  const x = (value) => width / 2 + (value / most) * (width / 2 - 4);
  return html`<div ref=${box} class="belief-box">${width > 0 && html`
    <svg width=${width} height=${ROW - 14}><line class="grid-line zero" x1=${x(0)} x2=${x(0)} y1="0" y2="20" />
      <rect class=${one.effect < 0 ? "effect-good" : "effect-bad"} x=${Math.min(x(0), x(one.effect))} y="5" width=${Math.max(Math.abs(x(one.effect) - x(0)), 1)} height="10" />
      <line class="whisker" x1=${x(one.effect - one.error)} x2=${x(one.effect + one.error)} y1="10" y2="10" /></svg>`}</div>`;
}
