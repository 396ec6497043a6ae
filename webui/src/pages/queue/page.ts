import type { PageEntry } from '../../shell/pages';

export const page: PageEntry = {
  path: '/queue',
  title: { en: 'Queue', zh: '队列' },
  order: 20,
  load: () => import('./Queue'),
};
