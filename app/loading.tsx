import { Skeleton } from '../components/ui/skeleton.tsx'

export default function Loading() {
  return <Skeleton lines={8} label="the page" />
}
