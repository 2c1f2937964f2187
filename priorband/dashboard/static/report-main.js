// The entry of a report: the same page, with the data that is written in the file.

import { start } from "./app.js";
import { FrozenSource } from "./frozen-source.js";
import { printInLight } from "./print-theme.js";

const data = JSON.parse(document.getElementById("report-data").textContent);
start(new FrozenSource(data), document.getElementById("app"));
printInLight();
