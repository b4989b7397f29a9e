// Simulated devices from the tool: any legal order gives the same bytes, a plan runs on other
// devices than those it was made for, and each device has the memory that the topology gives it.

// RUN: gantry compile %s -o %t.gantry --devices=CPU:0,GPU:0@64KiB,GPU:1 --simulate
// RUN: gantry run %t.gantry --output y=%t.virtual.npy --bind GPU:1=GPU:7 2>/dev/null
// RUN: gantry run %t.gantry --output y=%t.random.npy --sim-order=random:1 2>/dev/null
// RUN: cmp %t.virtual.npy %t.random.npy
// RUN: gantry run %t.gantry --output y=%t.random.npy --sim-order=random:2 2>/dev/null
// RUN: cmp %t.virtual.npy %t.random.npy

// RUN: not gantry run %t.gantry --bind GPU:0=GPU:1 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: '{{.*}}.gantry': 'GPU:0' and 'GPU:1' of the plan would both run on '/job:localhost/replica:0/task:0/device:GPU:1'; bind each to a device of its own
// RUN: not gantry run %t.gantry --bind GPU:2=GPU:1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: '{{.*}}.gantry': '/device:GPU:2' cannot be bound: unknown device; the devices of the plan are /job:localhost/replica:0/task:0/device:CPU:0, /job:localhost/replica:0/task:0/device:GPU:0, /job:localhost/replica:0/task:0/device:GPU:1
// RUN: not gantry run %t.gantry --bind GPU:0=CPU:0 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: --bind: the binding 'GPU:0=CPU:0' joins a GPU and a CPU; both must be of one type, since the plan's code is
// RUN: not gantry run %t.gantry --sim-order=never 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: --sim-order: unknown order of simulated commands 'never'; the orders are virtual and random:SEED

!t = tensor<32x32xf32>
func.func @main(%x: !t) -> (!t {gantry.name = "y"}) {
  %0 = gantry.copy %x to "GPU:0" : !t
  %1 = gantry.matmul %0, %0 {gantry.device = #gantry.device<"GPU:0">} : (!t, !t) -> !t
  %2 = gantry.copy %1 to "GPU:1" : !t
  %3 = gantry.softmax %2 {axis = 1 : i64, gantry.device = #gantry.device<"GPU:1">} : (!t) -> !t
  %4 = gantry.copy %3 to "CPU:0" : !t
  return %4 : !t
}
