// The entry of the dashboard's page.

import { start } from "./app.js";
import { LiveSource } from "./source.js";

start(new LiveSource(), document.getElementById("app"));
