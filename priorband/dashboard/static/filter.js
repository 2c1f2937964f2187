// The filter: a typed expression that picks trials, such as `lr < 1e-3 and origin = prior`.
//
//   expression  or-part { "or" or-part }
//   or-part     and-part { "and" and-part }
//   and-part    "not" and-part | "(" expression ")" | comparison | word
//   comparison  column operator value | column "in" "(" value { "," value } ")"
//   operator    = == != < <= > >= ~ (contains, without regard to case)
//   value       number | word | "text" | 'text' | none
//
// A column is a name of the table or of a parameter; `config.x` is always the parameter. A name with
// other characters is written in backticks. A word by itself looks for it in all columns of words.
// The same grammar is in priorband/dashboard/filters.py; tests/data/filter_cases.json holds both to
// the same answers.

const TOKEN = /\s*(?:(`[^`]*`)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(<=|>=|==|!=|[=<>~(),])|([^\s=<>!~(),`"']+))/y;
const OPERATORS = new Set(["=", "==", "!=", "<", "<=", ">", ">=", "~"]);

export class FilterError extends Error {
  constructor(message, at) {
    super(message);
    this.at = at;
  }
}

function tokens(text) {
  const found = [];
  TOKEN.lastIndex = 0;
  while (text.slice(TOKEN.lastIndex).trim() !== "") {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new FilterError(`unexpected ${text.slice(at).trim()[0]}`, at);
    const [, name, quoted, operator, word] = match;
    if (name !== undefined) found.push({ kind: "name", text: name.slice(1, -1), at });
    else if (quoted !== undefined) {
      found.push({ kind: "text", text: quoted.slice(1, -1).replace(/\\(.)/g, "$1"), at });
    } else if (operator !== undefined) found.push({ kind: "operator", text: operator, at });
    else found.push({ kind: "word", text: word, at });
  }
  return found;
}

class Parser {
  constructor(text) {
    this.tokens = tokens(text);
    this.next = 0;
    this.end = text.length;
  }

  peek(offset = 0) {
    return this.tokens[this.next + offset] ?? { kind: "end", text: "", at: this.end };
  }

  isWord(word) {
    const token = this.peek();
    return token.kind === "word" && token.text.toLowerCase() === word;
  }

  isOperator(text, offset = 0) {
    const token = this.peek(offset);
    return token.kind === "operator" && token.text === text;
  }

  take() {
    return this.tokens[this.next++];
  }

  all() {
    const tree = this.either();
    if (this.peek().kind !== "end") {
      throw new FilterError(`expected \`and\` or \`or\` before ${this.peek().text}`, this.peek().at);
    }
    return tree;
  }

  either() {
    const parts = [this.both()];
    while (this.isWord("or")) {
      this.take();
      parts.push(this.both());
    }
    return parts.length === 1 ? parts[0] : { kind: "or", parts };
  }

  both() {
    const parts = [this.one()];
    while (this.isWord("and")) {
      this.take();
      parts.push(this.one());
    }
    return parts.length === 1 ? parts[0] : { kind: "and", parts };
  }

  one() {
    if (this.isWord("not")) {
      this.take();
      return { kind: "not", part: this.one() };
    }
    if (this.isOperator("(")) {
      this.take();
      const tree = this.either();
      this.expect(")");
      return tree;
    }
    const subject = this.take();
    if (!subject) throw new FilterError("something is missing at the end", this.end);
    const joins = subject.kind === "word" && ["and", "or"].includes(subject.text.toLowerCase());
    if (subject.kind === "operator" || joins) {
      throw new FilterError(`expected a column before ${subject.text}`, subject.at);
    }
    const operator = this.peek();
    if (operator.kind === "operator" && OPERATORS.has(operator.text)) {
      this.take();
      const name = operator.text === "==" ? "=" : operator.text;
      return { kind: "compare", column: subject, operator: name, values: [this.value()] };
    }
    if (this.isWord("in") && this.isOperator("(", 1)) {
      this.next += 2;
      const values = [this.value()];
      while (this.isOperator(",")) {
        this.take();
        values.push(this.value());
      }
      this.expect(")");
      return { kind: "compare", column: subject, operator: "=", values };
    }
    return { kind: "search", text: subject.text };
  }

  expect(text) {
    if (!this.isOperator(text)) throw new FilterError(`expected ${text}`, this.peek().at);
    this.take();
  }

  value() {
    const token = this.take();
    if (!token || token.kind === "operator") {
      throw new FilterError("expected a value", token ? token.at : this.end);
    }
    const plain = token.kind === "word";
    const isNone = plain && token.text.toLowerCase() === "none";
    const number = plain && !isNone && isNumber(token.text) ? Number(token.text) : NaN;
    return { text: token.text, number, isNone, at: token.at };
  }
}

function isNumber(text) {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
}

/** Parse a filter; null if it is empty. Throws FilterError with the position of the mistake. */
export function parseFilter(text) {
  return text.trim() === "" ? null : new Parser(text).all();
}

/** The column that a filter means by a name: of the table first, then a parameter, then a metric. */
export function findColumn(table, name) {
  const all = [...table.columns.values()];
  return (
    all.find((one) => one.name === name) ??
    all.find((one) => one.label === name && one.group === "config") ??
    all.find((one) => one.label === name) ??
    all.find((one) => one.label.toLowerCase() === name.toLowerCase()) ??
    null
  );
}

function columnNamed(table, token) {
  const found = findColumn(table, token.text);
  if (found === null) throw new FilterError(`there is no column ${token.text}`, token.at);
  return found;
}

const COMPARE = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

/** The test of one comparison: a function from a row to a boolean. */
function comparison(table, tree) {
  const column = columnNamed(table, tree.column);
  const tests = tree.values.map((value) => valueTest(column, tree.operator, value));
  return tests.length === 1 ? tests[0] : (row) => tests.some((test) => test(row));
}

function valueTest(column, operator, value) {
  const { data } = column;
  const isReal = column.type[0] === "f";
  const missing = isReal ? (row) => Number.isNaN(data[row]) : (row) => data[row] < 0;
  if (value.isNone) {
    if (operator === "=") return missing;
    if (operator === "!=") return (row) => !missing(row);
    throw new FilterError("none can only be compared with = and !=", value.at);
  }
  if (column.words) return wordTest(column, operator, value, missing);
  if (operator === "~") {
    return (row) => !missing(row) && String(data[row]).includes(value.text);
  }
  if (Number.isNaN(value.number)) {
    throw new FilterError(`${column.label} is compared with a number, not ${value.text}`, value.at);
  }
  const compare = COMPARE[operator];
  const number = value.number;
  return (row) => !missing(row) && compare(data[row], number);
}

/** Words are tested once each, not once for each row. */
function wordTest(column, operator, value, missing) {
  const { data, words } = column;
  const wanted = value.text.toLowerCase();
  const test = (word) => {
    const lower = word.toLowerCase();
    if (operator === "~") return lower.includes(wanted);
    if (operator === "=" || operator === "!=") return (lower === wanted) === (operator === "=");
    const number = isNumber(word) ? Number(word) : NaN;
    if (!Number.isNaN(number) && !Number.isNaN(value.number)) {
      return COMPARE[operator](number, value.number);
    }
    return COMPARE[operator](lower, wanted);
  };
  const passes = Uint8Array.from(words, (word) => (test(word) ? 1 : 0));
  return (row) => !missing(row) && passes[data[row]] === 1;
}

function search(table, text) {
  const wanted = text.toLowerCase();
  const found = [];
  for (const column of table.columns.values()) {
    if (column.words) {
      const passes = Uint8Array.from(column.words, (word) => (word.toLowerCase().includes(wanted) ? 1 : 0));
      if (passes.includes(1)) found.push([column.data, passes]);
    }
  }
  return (row) => found.some(([data, passes]) => data[row] >= 0 && passes[data[row]] === 1);
}

function test(table, tree) {
  if (tree.kind === "compare") return comparison(table, tree);
  if (tree.kind === "search") return search(table, tree.text);
  if (tree.kind === "not") {
    const part = test(table, tree.part);
    return (row) => !part(row);
  }
  const parts = tree.parts.map((part) => test(table, part));
  if (tree.kind === "and") return (row) => parts.every((part) => part(row));
  return (row) => parts.some((part) => part(row));
}

/** The rows of a table that a filter lets through, in order. Throws FilterError. */
export function filteredRows(table, text) {
  const tree = parseFilter(text);
  const rows = new Uint32Array(table.rows);
  let count = 0;
  const passes = tree === null ? null : test(table, tree);
  for (let row = 0; row < table.rows; row++) {
    if (passes === null || passes(row)) rows[count++] = row;
  }
  return rows.subarray(0, count);
}

/** A column's name as a filter writes it. */
export function quotedName(table, column) {
  const plain = /^[^\s=<>!~(),`"']+$/.test(column.label);
  const own = findColumn(table, column.label) === column;
  const name = own ? column.label : column.name;
  return plain ? name : `\`${name.replaceAll("`", "")}\``;
}

/** A value as a filter writes it. */
export function quotedValue(value) {
  if (value === null) return "none";
  const text = String(value);
  if (typeof value === "number") return text;
  if (/^[^\s=<>!~(),`"']+$/.test(text) && text.toLowerCase() !== "none") return text;
  return `"${text.replace(/(["\\])/g, "\\$1")}"`;
}
