// Words of a shell's command line. Pure.
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

// Words as a shell makes them of quotes and backslashes; null: a quote is not closed.
export function split(line: string): string[] | null {
  const words: string[] = [];
  const token = /\s*((?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+)/gsy;
  let at = 0;
  for (let found = token.exec(line); found; found = token.exec(line)) {
    at = token.lastIndex;
    const parts = (found[1] ?? '').match(/'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^'"\\]+/gs) ?? [];
    words.push(parts.map(unquoted).join(''));
  }
  return line.slice(at).trim() === '' ? words : null;
}

function unquoted(part: string): string {
  if (part.startsWith("'")) return part.slice(1, -1);
  if (part.startsWith('"')) return part.slice(1, -1).replace(/\\(["\\$`])/g, '$1');
  return part.startsWith('\\') ? part.slice(1) : part;
}
