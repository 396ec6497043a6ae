import { describe, expect, it } from 'vitest';
import type { QueueRow } from '../../live/types';
import { filtered, listed, valuesOf, type QueueFilters } from './select';

const NO_FILTERS: QueueFilters = { state: '', user: '', team: '', pool: '', class: '', name: '' };

function row(id: number, state: string, user = 'kim', name = `job-${id}`): QueueRow {
  return { id, state, user, name, team: '', pool: 'a100', priority: 'normal' } as QueueRow;
}

describe('the queue', () => {
  const rows = listed([row(3, 'running'), row(5, 'queued'), row(7, 'queued', 'lee'), row(9, 'held')]);

  it('numbers who waits, and nobody else', () => {
    expect(rows.map((one) => one.inLine)).toEqual([0, 1, 2, 0]);
  });

  it('keeps the number in line when others are filtered out', () => {
    expect(filtered(rows, { ...NO_FILTERS, user: 'lee' })).toMatchObject([{ id: 7, inLine: 2 }]);
  });

  it('finds by a part of the name or by the number', () => {
    expect(filtered(rows, { ...NO_FILTERS, name: 'JOB-5' })).toHaveLength(1);
    expect(filtered(rows, { ...NO_FILTERS, name: '9' }).map((one) => one.id)).toEqual([9]);
    expect(filtered(rows, { ...NO_FILTERS, name: 'none' })).toEqual([]);
  });

  it('offers the words that there are, and the chosen one', () => {
    expect(valuesOf(rows, 'gone', (one) => one.user)).toEqual(['gone', 'kim', 'lee']);
  });
});
