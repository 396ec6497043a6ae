import { describe, expect, it } from 'vitest';
import { applyCommand, commandOf, FILE_COMMAND, isPlain } from './command';
import { faultOf, FIRST, readNames, readText, secretLike, write } from './draft';
import { quote, split } from './shell';

describe('the draft', () => {
  it('keeps comments and what the form does not know', () => {
    const text = '# mine\nname: a # short\nenv: {A: 1}\nrun: x\n';
    const after = write(text, { name: 'b', nodes: '4', 'interrupt.grace': '30s' });
    expect(after).toContain('# mine');
    expect(after).toContain('name: b # short');
    expect(after).toContain('env: { A: 1 }');
    expect(after).toContain('nodes: 4\n');
    expect(write(after, { 'interrupt.grace': '' })).not.toContain('interrupt');
  });

  it('leaves a text alone that is no YAML', () => {
    const text = 'name: [a';
    expect(write(text, { name: 'b' })).toBe(text);
    expect(faultOf(text)).toMatchObject({ word: 'yaml' });
  });

  it('asks for a full path before the scheduler is asked', () => {
    expect(faultOf(FIRST)).toMatchObject({ field: 'workdir', word: 'workdir' });
    expect(faultOf(write(FIRST, { workdir: 'a/b' }))).toMatchObject({ word: 'workdirRelative' });
    expect(faultOf(write(FIRST, { workdir: '/a' }))).toBeNull();
    expect(faultOf(`name: a\n---\nname: b\n`)).toBeNull();
  });

  it('names secrets of both forms, and variables that look like some', () => {
    expect(readNames('secrets: [a, {name: b, env: B}]', 'secrets')).toEqual(['a', 'b']);
    expect(secretLike('env: {HF_TOKEN: x, OMP_NUM_THREADS: 8}')).toEqual(['HF_TOKEN']);
  });
});

describe('the command', () => {
  it('says the draft, and is read back into it', () => {
    const text = write(FIRST, {
      workdir: '/srv/my code',
      run: "echo 'a b'",
      priority: 'high',
      'interrupt.grace': '30s',
    });
    const line = commandOf(text);
    expect(line).toBe(
      "cd '/srv/my code' && glim submit --name train --nodes 1 --priority high --grace 30s -- 'echo '\\''a b'\\'''",
    );
    expect(applyCommand(text, line)).toEqual({ text });
  });

  it('is a file where flags cannot say all of it; flags go into the file', () => {
    const text = write(FIRST, { mounts: [{ source: '/a' }] });
    expect(isPlain(text)).toBe(false);
    expect(commandOf(text)).toBe(FILE_COMMAND);
    const after = applyCommand(text, `${FILE_COMMAND} --nodes=3`);
    expect('text' in after && readText(after.text, 'nodes')).toBe('3');
    expect('text' in after && readText(after.text, 'run')).toBe('python train.py');
  });

  it('takes away what it does not say any more', () => {
    const after = applyCommand(write(FIRST, { pool: 'a100' }), 'glim submit --name x -- torchrun train.py "a b"');
    expect('text' in after && after.text).toBe("name: x\nrun: torchrun train.py 'a b'\n");
  });

  it('says what it does not understand', () => {
    expect(applyCommand(FIRST, 'glim submit --nope 3')).toEqual({ wrong: '--nope' });
    expect(applyCommand(FIRST, 'rm -rf')).toEqual({ wrong: 'rm' });
    expect(split("a 'b")).toBeNull();
    expect(split(`a\\ b "c\\"d"'e'`)).toEqual(['a b', 'c"de']);
    expect(quote('a;b')).toBe("'a;b'");
  });
});
