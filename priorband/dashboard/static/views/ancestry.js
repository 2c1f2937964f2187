// Ancestry: the trials of a configuration, and the incumbents that it was drawn near.

import { html, useMemo, useRef, useState } from "../preact.js";
import { ChartFrame } from "../chart-frame.js";
import { useStudy } from "../store.js";
import { originColorName } from "../theme.js";
import { number, visible } from "../format.js";
import { useWidth } from "../charts/use-size.js";
import { unready, useFiltered } from "../charts/use-filtered.js";

export const ancestry = { id: "ancestry", title: "Ancestry", key: "a", component: Ancestry };

const ROW = 58;
const HEAD = 26;

function Ancestry() {
  const { params, setParams, problem, openTrial, table } = useStudy();
  const trial = params.trial ?? "";
  const found = useFiltered("ancestry", trial === "" ? {} : { trial });
  const { data } = found;
  const box = useRef(null);
  const width = useWidth(box);
  const [at, setAt] = useState(null);
  const { rungs, name } = problem.fidelity;
  const nodes = useMemo(() => (data && width ? layout(data, rungs, width) : []), [data, width]);
  const count = data?.trial.length ?? 0;
  const generations = count ? data.generation[0] + 1 : 0;
  const height = HEAD + generations * ROW + 8;
  const describe = (i) => `trial ${data.trial[i]}, ${visible(name)} ${number(data.fidelity[i])}: ${data.value[i] === null ? data.statuses[data.status[i]] : number(data.value[i])}, from ${visible(data.origin[i])}`;
  const summary = count
    ? `${trial === "" ? "The incumbent" : `Trial ${trial}`}: ${generations === 1 ? `drawn from ${visible(data.origin[0])}` : `${generations - 1} ${generations === 2 ? "incumbent" : "incumbents"} back, the first drawn from ${visible(data.origin[0])}`}; ${count} trials.`
    : "";
  const onTrial = (event) => {
    const text = event.target.value.trim();
    if (text === "" || (/^\d+$/.test(text) && Number(text) < table.rows)) setParams({ trial: text || null });
  };
  return html`
    <div class="stack">
      <${ChartFrame} title="Ancestry" summary=${`${summary}${found.note}`} count=${count} describe=${describe} cursor=${setAt} open=${(i) => openTrial(data.trial[i])}
          empty=${unready(found) ?? (count ? null : "There is no incumbent yet.")}
          tools=${html`<label class="select"><span>trial</span><input type="number" min="0" max=${Math.max(table.rows - 1, 0)} placeholder="best" value=${trial} onChange=${onTrial} /></label>`}
          rows=${() => ({
            head: ["trial", "generation", "origin", visible(name), "status", "value"],
            rows: data.trial.map((id, i) => [id, data.generation[i], data.origin[i], data.fidelity[i], data.statuses[data.status[i]], data.value[i]]),
          })}>
        <div class="svg-box" ref=${box} aria-hidden="true">
          ${width > 0 && count > 0 && html`
            <svg width=${width} height=${height} role="presentation">
              ${rungs.map((fidelity, rung) => html`
                <line class="grid-line" x1=${rungX(rung, rungs, width)} x2=${rungX(rung, rungs, width)} y1=${HEAD - 6} y2=${height} />
                <text class="chart-text soft" x=${rungX(rung, rungs, width)} y="12" text-anchor="middle">${rung === 0 && width > 480 ? `${visible(name)} ` : ""}${number(fidelity)}</text>`)}
              ${nodes.map((node, i) => i > 0 && html`<${Link} from=${nodes[i - 1]} to=${node} />`)}
              ${nodes.map((node, i) => html`
                <g class=${at === i ? "node at" : "node"} onClick=${() => openTrial(data.trial[i])} onMouseEnter=${() => setAt(i)} onMouseLeave=${() => setAt(null)}>
                  ${node.first && html`<text class="chart-text" x="0" y=${node.y} dominant-baseline="middle" data-own=${node.color}>${visible(data.origin[i])}</text>`}
                  <circle cx=${node.x} cy=${node.y} r="6" data-own=${node.color} class=${data.value[i] === null ? "node-empty" : "node-full"} />
                  <text class="chart-text strong" x=${node.x} y=${node.y - 11} text-anchor="middle">${data.trial[i]}</text>
                  <text class="chart-text soft" x=${node.x} y=${node.y + 19} text-anchor="middle">${number(data.value[i])}</text>
                  <title>${describe(i)}</title>
                </g>`)}
            </svg>`}
        </div>
      <//>
    </div>`;
}

function rungX(rung, rungs, width) {
  const left = width < 480 ? 84 : 120;
  return rungs.length === 1 ? (left + width) / 2 : left + (rung / (rungs.length - 1)) * (width - left - 30);
}

function layout(data, rungs, width) {
  const top = data.generation[0] ?? 0;
  return data.trial.map((_, i) => ({
    x: rungX(Math.max(data.rung[i], 0), rungs, width),
    y: HEAD + (top - data.generation[i]) * ROW + 26,
    generation: data.generation[i],
    first: i === 0 || data.generation[i] !== data.generation[i - 1],
    color: originColorName(data.origin[i]),
  }));
}

/** A promotion is a line; a draw near an incumbent is a dashed curve to the next row. */
function Link({ from, to }) {
  if (from.generation === to.generation) return html`<line class="link" x1=${from.x + 7} x2=${to.x - 7} y1=${from.y} y2=${to.y} />`;
  const middle = (from.y + to.y) / 2 + 8;
  return html`<path class="link near" d=${`M${from.x} ${from.y + 24}C${from.x} ${middle} ${to.x} ${middle - 8} ${to.x} ${to.y - 22}`} />`;
}
