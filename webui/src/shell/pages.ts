// All pages: each folder of src/pages has a page.ts that says where it is; its code and words come when it is opened.
import { lazy, type ComponentType } from 'react';
import type { Role } from '../api/session';
import { loadWords, type Language } from '../i18n/i18n';

export interface PageEntry {
  path: string; // of wouter: '/jobs/:id'
  title: Record<Language, string>;
  order: number; // in the navigation; 0: not in it
  role?: Role; // the least that may open it
  load: () => Promise<{ default: ComponentType }>;
}

export interface Page extends PageEntry {
  name: string;
  View: ComponentType;
}

const entries = import.meta.glob<{ page: PageEntry }>('../pages/*/page.ts', { eager: true });

export const pages: Page[] = Object.entries(entries)
  .map(([file, { page }]) => {
    const name = file.split('/').at(-2) ?? '';
    const View = lazy(() => Promise.all([page.load(), loadWords(name)]).then(([code]) => code));
    return { ...page, name, View };
  })
  .sort((a, b) => a.order - b.order);

export const navigation = pages.filter((page) => page.order > 0);

// Whether there is a page for such an address: links to pages that do not exist are not made.
export function hasPage(path: string): boolean {
  return pages.some((page) => page.path === path);
}
