import type { PageEntry } from '../../shell/pages';

export const page: PageEntry = {
  path: '/jobs/:id/logs',
  title: { en: 'Logs', zh: '日志' },
  order: 0,
  load: () => import('./Logs'),
};
