#include "models/worker.h"

#include <algorithm>

namespace ridgeline::gui {

Worker::Worker() : thread_([this] { run(); }) {}

Worker::~Worker() {
  cancel_all();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Worker::post(const std::string& key, Job job) {
  cancel(key);
  {
    const std::lock_guard lock(mutex_);
    newest_[key] = ++tickets_;
    waiting_.push_back({key, tickets_, {}, std::move(job)});
    ++unfinished_;
  }
  wake_.notify_all();
}

void Worker::cancel(const std::string& key) {
  const std::lock_guard lock(mutex_);
  newest_[key] = 0;
  unfinished_ -= static_cast<std::int64_t>(
      std::erase_if(waiting_, [&](const Entry& entry) { return entry.key == key; }));
  if (running_ && running_key_ == key) running_stop_.request_stop();
}

void Worker::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, ticket] : newest_) ticket = 0;
  unfinished_ -= static_cast<std::int64_t>(waiting_.size());
  waiting_.clear();
  if (running_) running_stop_.request_stop();
}

bool Worker::busy() const {
  const std::lock_guard lock(mutex_);
  return unfinished_ > 0;
}

void Worker::tell(QObject* receiver, std::function<void()> told) {
  const QPointer<QObject> alive(receiver);
  QMetaObject::invokeMethod(
      this,
      [alive, told = std::move(told)] {
        if (alive) told();
      },
      Qt::QueuedConnection);
}

void Worker::deliver(const std::string& key, std::uint64_t ticket, std::function<void()> done) {
  QMetaObject::invokeMethod(
      this,
      [this, key, ticket, done = std::move(done)] {
        bool wanted = false;
        {
          const std::lock_guard lock(mutex_);
          wanted = newest_[key] == ticket;
        }
        if (wanted) done();
        const std::lock_guard lock(mutex_);
        --unfinished_;
      },
      Qt::QueuedConnection);
}

void Worker::run() {
  while (true) {
    Entry entry;
    {
      std::unique_lock lock(mutex_);
      running_ = false;
      wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (ending_) return;
      entry = std::move(waiting_.front());
      waiting_.pop_front();
      running_ = true;
      running_key_ = entry.key;
      running_stop_ = entry.stop;
    }
    entry.job(entry.stop.get_token(), entry.ticket);
  }
}

}  // namespace ridgeline::gui
