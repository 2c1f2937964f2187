// The views of a study, in the order of the tabs. See ../README.md for what a view is.

import { overview } from "./overview.js";
import { trials } from "./trials.js";
import { trial } from "./trial.js";
import { curves } from "./curves.js";
import { parallel } from "./parallel.js";
import { rungs } from "./rungs.js";
import { prior } from "./prior.js";
import { importance } from "./importance.js";
import { workers } from "./workers.js";
import { ancestry } from "./ancestry.js";
import { compare } from "./compare.js";
import { all } from "./all.js";
import { notes } from "./notes.js";

export const VIEWS = [
  overview, trials, trial, curves, parallel, rungs, prior, importance, workers, ancestry, compare, all, notes,
];
