import type { PageEntry } from '../../shell/pages';

export const page: PageEntry = {
  path: '/admin',
  title: { en: 'Admin', zh: '管理' },
  order: 60,
  role: 'operator',
  load: () => import('./Admin'),
};
