// Several devices: RUN lines of one file each, the host and two GPUs that are simulated.
// RUN: gantry-opt %s --gantry-lower-to-plan -split-input-file | FileCheck %s

!t = tensor<4xf32>
#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// Devices say who runs them; a buffer is where its value is made, scratch where the launch runs, and
// a copy is on the queue of the GPU side that is for its direction. What is returned is computed, or
// copied, straight into the output.
// CHECK: plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
// CHECK-NEXT: plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim"
// CHECK-NEXT: plan.device @d2 "/job:localhost/replica:0/task:0/device:GPU:1" on "sim" physical 1
// CHECK-LABEL: plan.func @chain
// CHECK-SAME: outputs [#plan.binding<"output0" : tensor<4xf32> on @d0>, #plan.binding<"output1" : tensor<4xf32> on @d2>]
// CHECK: %[[X:.*]] = plan.input 0
// CHECK: %[[O0:.*]] = plan.output 0
// CHECK: %[[O1:.*]] = plan.output 1
// CHECK: %[[X1:.*]] = plan.buffer size 16 on @d1 "x" :
// CHECK: plan.copy %[[X]] to %[[X1]] on @d1 queue 1 for "first" "x" at
// CHECK: %[[H:.*]] = plan.buffer size 16 on @d1 "first"
// CHECK: plan.buffer size 256 on @d1 "scratch"
// CHECK: plan.launch @relu_0(%[[X1]]) -> (%[[H]]) {{.*}} on @d1 "first"
// CHECK: %[[H2:.*]] = plan.buffer size 16 on @d2
// CHECK: plan.copy %[[H]] to %[[H2]] on @d2 queue 3 for "second" "first" at
// CHECK: plan.buffer size 256 on @d2 "scratch"
// CHECK: plan.launch @relu_0(%[[H2]]) -> (%[[O1]]) {{.*}} on @d2 "second"
// CHECK: plan.copy %[[O1]] to %[[O0]] on @d2 queue 2 for "return" "second" at
// CHECK-NOT: plan.copy
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @chain(%x: !t {gantry.name = "x"}) -> (!t, !t {gantry.device = #gpu1}) {
    %0 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" {cause = "first", gantry.name = "x"} : !t
    %1 = gantry.launch @kernels::@relu_0(%0) {gantry.device = #gpu0, gantry.name = "first"} : (!t) -> !t
    %2 = gantry.copy %1 to "/job:localhost/replica:0/task:0/device:GPU:1" {cause = "second"} : !t
    %3 = gantry.launch @kernels::@relu_0(%2) {gantry.device = #gpu1, gantry.name = "second"} : (!t) -> !t
    %4 = gantry.copy %3 to "/job:localhost/replica:0/task:0/device:CPU:0" {cause = "return"} : !t
    return %4, %3 : !t, !t
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @add_0(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}

// -----

!t = tensor<4xf32>
#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// A constant is on each device that uses it; where its home is another one, that is a copy at load,
// said once for the first use.
// CHECK-DAG: plan.constant @c0 "w" on @d1 home @d0 for "a" offset
// CHECK-DAG: plan.constant @c2 "w" on @d2 home @d0 for "b" offset
// CHECK-DAG: plan.constant @c1 "v" on @d1 offset
// Nothing is copied of what has no bytes.
// CHECK-DAG: plan.constant @c3 "empty" on @d1 offset
// CHECK-NOT: plan.constant
// CHECK-LABEL: plan.func @constants
// CHECK-DAG: %[[W1:.*]] = plan.use @c0
// CHECK-DAG: %[[W2:.*]] = plan.use @c2
// CHECK-DAG: %[[V:.*]] = plan.use @c1
// CHECK: plan.launch @add_0(%[[W1]], %[[V]])
// CHECK: plan.launch @relu_0(%[[W2]])
// CHECK: plan.launch @relu_0(%[[W1]])
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @constants() -> (!t {gantry.device = #gpu0}, !t {gantry.device = #gpu1}, !t {gantry.device = #gpu0}) {
    %e = gantry.constant {gantry.name = "empty", gantry.device = #cpu} dense<> : tensor<0xf32>
    %w = gantry.constant {gantry.name = "w", gantry.device = #cpu} dense<[1.0, 2.0, 3.0, 4.0]> : !t
    %v = gantry.constant {gantry.name = "v"} dense<[4.0, 2.0, 3.0, 4.0]> : !t
    %0 = gantry.launch @kernels::@add_0(%w, %v) {gantry.device = #gpu0, gantry.name = "a"} : (!t, !t) -> !t
    %1 = gantry.launch @kernels::@relu_0(%w) {gantry.device = #gpu1, gantry.name = "b"} : (!t) -> !t
    %2 = gantry.launch @kernels::@relu_0(%w) {gantry.device = #gpu0, gantry.name = "c"} : (!t) -> !t
    %3 = gantry.launch @kernels::@relu_0(%e) {gantry.device = #gpu0, gantry.name = "d"} : (tensor<0xf32>) -> !t
    return %0, %1, %2 : !t, !t, !t
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @add_0(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}

// -----

!t = tensor<4xf32>
#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// Results of control flow live at their homes, the output itself when it is there; conditions on the
// host.
// CHECK-LABEL: plan.func @control
// CHECK: %[[L:.*]] = plan.output 0
// CHECK: %[[R:.*]] = plan.buffer size 16 on @d1 "branch"
// CHECK: plan.if %{{.*}} {
// CHECK: plan.copy %{{.*}} to %[[R]] on @d1 queue 1 for "branch"
// CHECK: } else {
// CHECK: plan.launch @relu_0({{.*}}) -> (%[[R]])
// CHECK: plan.copy %[[R]] to %[[L]] on @d1 "loop"
// CHECK: %[[FLAG:.*]] = plan.buffer size 1 on @d0 "condition"
// CHECK: plan.while %[[FLAG]] {
// CHECK: plan.launch @less_0(%[[L]]) -> (%[[MORE:.*]]) {{.*}} on @d1
// CHECK: plan.copy %[[MORE]] to %[[FLAG]] on @d1 queue 2
// CHECK: } do {
// CHECK: plan.copy %{{.*}} to %[[L]] on @d1 "loop"
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @control(%c: tensor<i1>, %x: !t) -> (!t {gantry.device = #gpu0}) {
    %0 = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" : !t
    %1 = gantry.if %c -> (!t) {
      gantry.yield %x : !t
    } else {
      %2 = gantry.launch @kernels::@relu_0(%0) {gantry.device = #gpu0} : (!t) -> !t
      gantry.yield %2 : !t
    } {gantry.homes = [#gpu0], gantry.name = "branch"} : tensor<i1>
    %3 = gantry.while (%1) : (!t) -> (!t) {
    ^bb0(%i: !t):
      %4 = gantry.launch @kernels::@less_0(%i) {gantry.device = #gpu0} : (!t) -> tensor<i1>
      %5 = gantry.copy %4 to "/job:localhost/replica:0/task:0/device:CPU:0" : tensor<i1>
      gantry.yield %5 : tensor<i1>
    } do {
    ^bb0(%i: !t):
      %6 = gantry.launch @kernels::@relu_0(%i) {gantry.device = #gpu0} : (!t) -> !t
      gantry.yield %6 : !t
    } {gantry.homes = [#gpu0], gantry.name = "loop"}
    return %3 : !t
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %s: memref<256xi8>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 2, grain = 1, scratch = 256>} {
      return
    }
    func.func private @add_0(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}
