// Small mutations of a C source: a condition negated, a statement dropped, a constant plus or minus one, a comparison swapped.

/** The text with comments, strings, characters and directives blanked, so that an offset in it is an offset in the source. A constant of a
 *  #define stays. */
function blank(text) {
  const spaces = match => match.replace(/[^\n]/g, ' ');
  return text.replace(/\/\*[^]*?\*\/|\/\/.*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, spaces)
    .replace(/^#(?!define \w+ ).*(?:\\\n.*)*$/gm, spaces).replace(/^#define \w+/gm, spaces);
}

/** The offset after the bracket that closes the one at `from`. */
function closing(code, from) {
  let depth = 0;
  for (let at = from; at < code.length; at++)
    if ('([{'.includes(code[at]))
      depth++;
    else if (')]}'.includes(code[at]) && --depth === 0)
      return at + 1;
  return code.length;
}

/** The offset at which the operand before `at` begins: after what binds less than a condition. */
function operandStart(code, at) {
  for (let depth = 0, i = at - 1; i > 0; i--) {
    if (')]'.includes(code[i]))
      depth++;
    else if ('(['.includes(code[i]) && depth-- === 0)
      return i + 1;
    else if (depth === 0 && (',;{}?:'.includes(code[i]) || (code[i] === '=' && !'=<>!'.includes(code[i - 1]) && code[i + 1] !== '=')
      || /^return\b/.test(code.slice(i, i + 7))))
      return code[i] === 'r' ? i + 6 : i + 1;
  }
  return 0;
}

function* conditions(code) {
  for (const { 0: head, index } of code.matchAll(/\b(?:if|while) (?=\()/g)) {
    const from = index + head.length;
    yield [from + 1, closing(code, from) - 1];
  }
  for (const { index } of code.matchAll(/\bfor \(/g)) {
    const [first, second] = code.slice(index, closing(code, index + 4)).split(';');
    if (second?.trim())
      yield [index + first.length + 1, index + first.length + 1 + second.length, true];
  }
  for (const { index } of code.matchAll(/\?/g))
    yield [operandStart(code, index), index];
}

function* statements(code) {
  const bodies = [...code.matchAll(/^\{/gm)].map(({ index }) => [index, closing(code, index)]);
  for (const [begin, end] of bodies)
    for (let at = begin + 1; at < end;) {
      const blanks = code.slice(at, end).search(/[^\s{}]/), start = at + blanks, head = code.slice(start, end);
      if (blanks < 0)
        break;
      const controls = /^(?:if|while|for|switch) (?=\()/.exec(head) ?? /^(?:else|do)\b/.exec(head) ?? /^(?:case\b[^:]*|default|\w+):/.exec(head);
      if (controls) {
        at = start + controls[0].length;
        if (code[at] === '(')
          at = closing(code, at);
        continue;
      }
      for (at = start; at < end && code[at] !== ';';)
        at = '([{'.includes(code[at]) ? closing(code, at) : at + 1;
      const text = code.slice(start, ++at), isDeclaration = /^(?!return\b|goto\b|else\b)\w+\b[\s*]+\w+/.test(text) || /^AUTO|^\w+ \*/.test(text);
      if (!isDeclaration && !/^(?:static_assert|\(void\)\w+;)/.test(text))
        yield [start, at];
    }
}

const SWAPS = { '<': ['<=', '!='], '>': ['>=', '!='], '<=': ['<', '=='], '>=': ['>', '=='], '==': ['!='], '!=': ['==', '>'] };

/** All mutants of a source: {line, kind, from, to, text}, where text is the whole mutated source. Left out is what changes nothing for sure:
 *  another way to compare with a constant of no sign or with the end of a loop, the index of a sizeof, {0}. */
export function mutantsOf(source) {
  const code = blank(source), found = [], loops = [];
  const add = (kind, start, end, to) => found.push({ kind, from: source.slice(start, end).replace(/\s+/g, ' '), to: to.replace(/\s+/g, ' '),
    line: source.slice(0, start).split('\n').length, text: source.slice(0, start) + to + source.slice(end) });
  for (const [begin, end, isLoop] of conditions(code)) {
    const text = code.slice(begin, end), start = begin + text.search(/\S/);
    if (isLoop)
      loops.push([begin, end]);
    if (!/^[^&|?]*[!=]=[^&|?]*$/.test(text.replaceAll(/\(\w+ = /g, ''))) // else the comparison is swapped
      add('negated', start, begin + text.trimEnd().length, `!(${source.slice(begin, end).trim()})`);
  }
  for (const [start, end] of statements(code))
    add('dropped', start, end, ';');
  for (const { 0: number, index } of code.matchAll(/(?<![\w.\]])(?:0x[0-9a-fA-F]+|\d+)[uUlL]*(?![\w.])/g))
    if (!/(?:\{|sizeof [\w.>*-]+\[)$/.test(code.slice(0, index)) || !'}]'.includes(code[index + number.length]))
      for (const to of ['+', '-'])
        add('constant', index, index + number.length, `(${number} ${to} 1)`);
  for (const { 0: operator, index } of code.matchAll(/(?<![-<>=!+*/|&^%])(?:[<>=!]=|[<>])(?![<>=])/g)) {
    const right = code.slice(index + operator.length), inLoop = loops.some(([begin, end]) => begin < index && index < end);
    for (const to of SWAPS[operator])
      if (!(to === '>' && /^ (?:ERR_OK|NULL|0\b)/.test(right)) && !(to === '!=' && (inLoop || /^ 0\b/.test(right))))
        add('compared', index, index + operator.length, to);
  }
  return found;
}
