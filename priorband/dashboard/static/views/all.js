// All charts of a study on one page, such as for printing.

import { html } from "../preact.js";
import { AgreementChart } from "../charts/agreement-chart.js";
import { ImportanceChart } from "../charts/importance-chart.js";
import { IncumbentChart } from "../charts/incumbent-chart.js";
import { RungFlowChart } from "../charts/rung-flow-chart.js";
import { ancestry } from "./ancestry.js";
import { curves } from "./curves.js";
import { parallel } from "./parallel.js";
import { prior } from "./prior.js";
import { workers } from "./workers.js";

export const all = { id: "all", title: "All charts", key: "x", component: All };

function All() {
  return html`
    <div class="stack">
      <${IncumbentChart} />
      <${RungFlowChart} height=${300} />
      <${AgreementChart} />
      ${[prior].map((view) => html`<${view.component} />`)}
      <${ImportanceChart} />
      ${[curves, parallel, ancestry, workers].map((view) => html`<${view.component} />`)}
    </div>`;
}
