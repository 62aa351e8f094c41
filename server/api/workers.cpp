// Workers and queues.
#include "server/api/api.hpp"
#include "server/api/views.hpp"

namespace holdfast::server {

struct WorkerListView {
  std::vector<WorkerView> workers{};
};
struct QueueListView {
  std::vector<QueueInfo> queues{};
};
HOLDFAST_GIVEN(WorkerListView, "WorkerList");
HOLDFAST_GIVEN(QueueInfo, "Queue");
HOLDFAST_GIVEN(QueueListView, "QueueList");

void add_workers(Endpoints& endpoints) {
  endpoints.add<Nothing, WorkerListView>(below_namespace("GET", "/workers", "list_workers"),
                                         {.summary = "Registered workers, in the order of their starts"},
                                         [](const Asked& asked) {
                                           WorkerListView shown;
                                           for (const WorkerInfo& worker : asked.client().workers())
                                             shown.workers.push_back(view(worker));
                                           return shown;
                                         });
  endpoints.add<Nothing, QueueListView>(
      below_namespace("GET", "/queues", "list_queues"),
      {.summary = "Activities that wait or run, by queue and name"},
      [](const Asked& asked) { return QueueListView{asked.client().queues()}; });
}

}  // namespace holdfast::server
