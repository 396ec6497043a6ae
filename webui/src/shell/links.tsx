// Links to things, as text where there is no page for them. Addresses are made here alone.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Int } from '../api/int';
import { hasPage } from './pages';

export function jobPath(id: Int): string {
  return `/jobs/${id}`;
}

// Ends with a slash: names of nodes may have dots, and the scheduler takes `/nodes/a.b` for a file.
export function nodePath(name: string): string {
  return `/nodes/${encodeURIComponent(name)}/`;
}

export function JobLink({ id, children }: { id: Int; children?: ReactNode }) {
  const text = children ?? String(id);
  return hasPage('/jobs/:id') ? <Link href={jobPath(id)}>{text}</Link> : <>{text}</>;
}

// The scheduler's words, with the jobs that they name as links: "held by jobs 1, 2".
export function SaidOfJobs({ text }: { text: string }) {
  const parts = text.split(/\b(jobs? )(\d+(?:, \d+)*)/);
  return <span lang="en">{parts.map((part, at) => (at % 3 === 2 ? <Ids key={at} text={part} /> : part))}</span>;
}

function Ids({ text }: { text: string }) {
  return text.split(', ').map((id, at) => (
    <span key={at}>
      {at > 0 && ', '}
      <JobLink id={BigInt(id)} />
    </span>
  ));
}

export function NodeLink({ name, children }: { name: string; children?: ReactNode }) {
  const text = children ?? name;
  return hasPage('/nodes/:name') ? <Link href={nodePath(name)}>{text}</Link> : <>{text}</>;
}
