// The entry of the dashboard's page.

import { start } from "./app.js";
import { printInLight } from "./print-theme.js";
import { LiveSource } from "./source.js";

start(new LiveSource(), document.getElementById("app"));
printInLight();
