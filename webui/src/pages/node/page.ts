import type { PageEntry } from '../../shell/pages';

export const page: PageEntry = {
  path: '/nodes/:name',
  title: { en: 'Node', zh: '节点' },
  order: 0,
  load: () => import('./Node'),
};
