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

export function NodeLink({ name, children }: { name: string; children?: ReactNode }) {
  const text = children ?? name;
  return hasPage('/nodes/:name') ? <Link href={nodePath(name)}>{text}</Link> : <>{text}</>;
}
