import type { PageEntry } from '../../shell/pages';

export const page: PageEntry = {
  path: '/jobs/:id',
  title: { en: 'Job', zh: '作业' },
  order: 0,
  load: () => import('./Job'),
};
