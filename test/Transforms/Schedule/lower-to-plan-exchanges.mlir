// RUN: gantry-opt %s --pass-pipeline='builtin.module(gantry-lower-to-plan{messages})' -split-input-file | FileCheck %s --enable-var-scope
// RUN: gantry-opt %s --pass-pipeline='builtin.module(gantry-lower-to-plan{messages},gantry-order-commands,gantry-coalesce-copies,gantry-plan-memory,gantry-order-queues,gantry-verify-plan,gantry-verify-commands)' -split-input-file | FileCheck %s --enable-var-scope --check-prefix=PLANNED

!t = tensor<4xf32>
#t0 = #gantry.device<"/job:w/replica:0/task:0/device:CPU:0">
#t1 = #gantry.device<"/job:w/replica:0/task:1/device:CPU:0">
#t2 = #gantry.device<"/job:w/replica:0/task:2/device:CPU:0">

// A copy to another task is a send and a receive side by side, and one exchange of the plan.
// CHECK: plan.exchange @x0 message of [@d0, @d1] sizes [16] for "relu" "x"
// CHECK: plan.exchange @x1 message of [@d1, @d0] sizes [16] for "return" "relu"
// CHECK-LABEL: plan.func @message
// CHECK: plan.part 0 of @x0 from %{{.*}} on @d0 queue 4 "x" at
// CHECK-NEXT: plan.part 1 of @x0 to %[[X:.*]] on @d1 queue 5 "x" at
// CHECK: plan.launch @relu_0(%[[X]]) -> (%[[Y:.*]]) {{.*}} on @d1
// CHECK: plan.part 0 of @x1 from %[[Y]] on @d1 queue 4 "relu" at
// CHECK-NEXT: plan.part 1 of @x1 to %{{.*}} on @d0 queue 5 "relu" at
// CHECK-NOT: plan.copy

// Queues meet within a task, in front of all parts and behind them.
// PLANNED-LABEL: plan.func @message
// PLANNED: plan.part 0 of @x0
// PLANNED-NEXT: plan.part 1 of @x0
// PLANNED-NEXT: plan.signal 0 on @d1 queue 5
// PLANNED: plan.wait 0 on @d1{{$}}
// PLANNED-NEXT: plan.launch @relu_0
// PLANNED-NEXT: plan.signal 1 on @d1{{$}}
// PLANNED-NEXT: plan.wait 1 on @d1 queue 4
// PLANNED-NEXT: plan.part 0 of @x1
// PLANNED-NEXT: plan.part 1 of @x1
module attributes {gantry.topology = #gantry.topology<[#t0, #t1, #t2]>} {
  func.func @message(%x: !t {gantry.name = "x"}) -> !t {
    %0 = gantry.copy %x to "/job:w/replica:0/task:1/device:CPU:0" {cause = "relu", gantry.name = "x"} : !t
    %1 = gantry.launch @kernels::@relu_0(%0) {gantry.device = #t1, gantry.name = "relu"} : (!t) -> !t
    %2 = gantry.copy %1 to "/job:w/replica:0/task:0/device:CPU:0" {cause = "return"} : !t
    return %2 : !t
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}

// -----

!t = tensor<4xf32>
#t0 = #gantry.device<"/job:w/replica:0/task:0/device:CPU:0">
#t1 = #gantry.device<"/job:w/replica:0/task:1/device:CPU:0">
#t2 = #gantry.device<"/job:w/replica:0/task:2/device:CPU:0">

// A part for each member, in their order; sizes are bytes, those of an all-to-all of a row of each
// chunk. Whose chunk is empty has a part.
// CHECK: plan.exchange @x0 all_to_all of [@d0, @d1, @d2] sizes [12, 4, 0] "g/all_to_all"
// CHECK: plan.exchange @x1 all_gather of [@d0, @d1] sizes [16, 8] "g/all_gather"
// CHECK: plan.exchange @x2 broadcast of [@d0, @d1, @d2] sizes [16] "b"
// CHECK-LABEL: plan.func @collectives
// CHECK: plan.part 0 of @x0 from %{{.*}} to %{{.*}} on @d0 queue 6 "g/all_to_all" at
// CHECK-NEXT: plan.part 1 of @x0 from %{{.*}} to %{{.*}} on @d1 queue 6
// CHECK-NEXT: plan.part 2 of @x0 from %{{.*}} to %{{.*}} on @d2 queue 6
// CHECK: plan.part 0 of @x1
// CHECK-NEXT: plan.part 1 of @x1
// CHECK: plan.part 0 of @x2 from %{{.*}} on @d0 queue 4 "b"
// CHECK-NEXT: plan.part 1 of @x2 to %{{.*}} on @d1 queue 5 "b"
// CHECK-NEXT: plan.part 2 of @x2 to %{{.*}} on @d2 queue 5 "b"
// PLANNED-LABEL: plan.func @collectives
module attributes {gantry.topology = #gantry.topology<[#t0, #t1, #t2]>} {
  func.func @collectives(%a: !t, %b: !t {gantry.device = #t1}, %c: !t {gantry.device = #t2}, %d: tensor<2xf32> {gantry.device = #t1}) -> (tensor<9xf32>, tensor<6xf32>, !t {gantry.device = #t2}) {
    %0:3 = gantry.exchange all_to_all %a, %b, %c on ["/job:w/replica:0/task:{0..2}/device:CPU:0"] {gantry.name = "g/all_to_all"} : (!t, !t, !t) -> (tensor<9xf32>, tensor<3xf32>, tensor<0xf32>)
    %1:2 = gantry.exchange all_gather %a, %d on ["/job:w/replica:0/task:{0..1}/device:CPU:0"] {gantry.name = "g/all_gather"} : (!t, tensor<2xf32>) -> (tensor<6xf32>, tensor<6xf32>)
    %2:2 = gantry.exchange broadcast %a on ["/job:w/replica:0/task:{0..2}/device:CPU:0"] {gantry.name = "b"} : (!t) -> (!t, !t)
    return %0#0, %1#0, %2#1 : tensor<9xf32>, tensor<6xf32>, !t
  }
}

// -----

!t = tensor<4xf32>
#t0 = #gantry.device<"/job:w/replica:0/task:0/device:CPU:0">
#t1 = #gantry.device<"/job:w/replica:0/task:1/device:CPU:0">
#t2 = #gantry.device<"/job:w/replica:0/task:2/device:CPU:0">

// The condition of a branch is where its commands are, here in tasks 1 and 2; a task without any has none.
// CHECK-LABEL: plan.func @branch
// CHECK: %[[C:.*]] = plan.input 0 size 1
// CHECK: %[[C1:.*]] = plan.buffer size 1 on @d1 "condition"
// CHECK: plan.part 0 of @[[X1:.*]] from %[[C]] on @d0
// CHECK-NEXT: plan.part 1 of @[[X1]] to %[[C1]] on @d1
// CHECK: %[[C2:.*]] = plan.buffer size 1 on @d2 "condition"
// CHECK: plan.part 0 of @[[X2:.*]] from %[[C]] on @d0
// CHECK-NEXT: plan.part 1 of @[[X2]] to %[[C2]] on @d2
// CHECK: plan.conditions %[[C2]]
// CHECK-NEXT: plan.if %[[C1]] {
// CHECK: plan.launch {{.*}} on @d1
// CHECK: } else {

// A loop tests its condition again in every round: it is sent at the end of each test.
// CHECK-LABEL: plan.func @loop
// CHECK: plan.conditions %[[F1:.*]]
// CHECK-NEXT: plan.while %[[F:.*]] {
// CHECK: plan.launch @less_0({{.*}}) -> (%[[F]])
// CHECK: plan.part 0 of @[[X:.*]] from %[[F]] on @d0
// CHECK-NEXT: plan.part 1 of @[[X]] to %[[F1]] on @d1
// CHECK-NEXT: } do {
// CHECK: plan.launch @relu_0{{.*}} on @d1
// PLANNED-LABEL: plan.func @branch
// PLANNED-LABEL: plan.func @loop
module attributes {gantry.topology = #gantry.topology<[#t0, #t1, #t2]>} {
  func.func @branch(%c: tensor<i1>, %x: !t {gantry.device = #t1}, %y: !t {gantry.device = #t2}) -> (!t {gantry.device = #t1}, !t {gantry.device = #t2}) {
    %0:2 = gantry.if %c -> (!t, !t) {
      %1 = gantry.launch @kernels::@relu_0(%x) {gantry.device = #t1} : (!t) -> !t
      gantry.yield %1, %y : !t, !t
    } else {
      gantry.yield %x, %y : !t, !t
    } {gantry.homes = [#t1, #t2]} : tensor<i1>
    return %0#0, %0#1 : !t, !t
  }
  func.func @loop(%n: !t, %x: !t {gantry.device = #t1}) -> (!t {gantry.device = #t1}) {
    %0 = gantry.while (%x) : (!t) -> !t {
    ^bb0(%i: !t):
      %1 = gantry.launch @kernels::@less_0(%n) {gantry.device = #t0} : (!t) -> tensor<i1>
      gantry.yield %1 : tensor<i1>
    } do {
    ^bb0(%i: !t):
      %2 = gantry.launch @kernels::@relu_0(%i) {gantry.device = #t1} : (!t) -> !t
      gantry.yield %2 : !t
    } {gantry.homes = [#t1]}
    return %0 : !t
  }
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
    func.func private @relu_0(%a: memref<4xf32>, %b: memref<4xf32>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
    func.func private @less_0(%a: memref<4xf32>, %b: memref<i1>, %begin: index, %end: index) attributes {gantry.work = #gantry.work<items = 1>} {
      return
    }
  }
}
