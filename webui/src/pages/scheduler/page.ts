import type { PageEntry } from '../../shell/pages';

export const page: PageEntry = {
  path: '/scheduler',
  title: { en: 'Scheduler', zh: '调度器' },
  order: 50,
  load: () => import('./Scheduler'),
};
