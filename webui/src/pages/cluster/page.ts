import type { PageEntry } from '../../shell/pages';

export const page: PageEntry = {
  path: '/cluster',
  title: { en: 'Cluster', zh: '集群' },
  order: 10,
  load: () => import('./Cluster'),
};
