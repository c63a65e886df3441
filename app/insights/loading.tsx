import { PageSkeleton } from '../../components/insights/list-states.tsx'

export default function Loading() {
  return <PageSkeleton />
}
