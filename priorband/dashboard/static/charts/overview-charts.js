// The charts that the overview shows, in order. Each is a component that reads useStudy().

import { html } from "../preact.js";
import { IncumbentChart } from "./incumbent-chart.js";
import { ChancesChart } from "./chances-charts.js";
import { RungFlowChart } from "./rung-flow-chart.js";
import { AgreementChart } from "./agreement-chart.js";

export const OVERVIEW_CHARTS = [Charts];

function Charts() {
  return html`
    <div class="chart-grid">
      <${IncumbentChart} height=${272} /><${RungFlowChart} height=${250} />
      <${ChancesChart} height=${200} /><${AgreementChart} />
    </div>`;
}
