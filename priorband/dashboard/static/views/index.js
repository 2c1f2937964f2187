// The views of a study, in the order of the tabs. See ../README.md for what a view is.

import { overview } from "./overview.js";
import { trials } from "./trials.js";
import { trial } from "./trial.js";
import { notes } from "./notes.js";

export const VIEWS = [overview, trials, trial, notes];
