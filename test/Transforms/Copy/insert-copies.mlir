// RUN: gantry-opt %s -split-input-file --gantry-insert-copies --gantry-verify-copies | FileCheck %s -enable-var-scope

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// A value gets one copy for each device, however many uses; arguments and results live on the host.
// CHECK-LABEL: func.func @one_copy_per_device
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[ON0:.*]] = gantry.copy %[[X]] to "{{.*}}GPU:0" {cause = "Relu 'a' at {{.*}}insert-copies.mlir:[[#]]:[[#]]"}
// CHECK-NEXT: %[[ON1:.*]] = gantry.copy %[[X]] to "{{.*}}GPU:1"
// CHECK: %[[A:.*]] = gantry.relu %[[ON0]]
// CHECK-NEXT: %[[A1:.*]] = gantry.copy %[[A]] to "{{.*}}GPU:1"
// CHECK: %[[B:.*]] = gantry.exp %[[ON0]]
// CHECK-NEXT: %[[B1:.*]] = gantry.copy %[[B]] to "{{.*}}GPU:1"
// CHECK: %[[C:.*]] = gantry.add %[[ON1]], %[[A1]]
// CHECK: %[[D:.*]] = gantry.add %[[C]], %[[B1]]
// CHECK-NEXT: %[[OUT:.*]] = gantry.copy %[[D]] to "{{.*}}CPU:0" {cause = "result 0 of '@one_copy_per_device'"}
// CHECK-NOT: gantry.copy
// CHECK: return %[[OUT]]
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  func.func @one_copy_per_device(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = gantry.relu %x {gantry.device = #gpu0, gantry.name = "a"} : (tensor<4xf32>) -> tensor<4xf32>
    %b = gantry.exp %x {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    %c = gantry.add %x, %a {gantry.device = #gpu1} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d = gantry.add %c, %b {gantry.device = #gpu1} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %d : tensor<4xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// Ends that say where they live are not brought to the host; constants are never copied.
// CHECK-LABEL: func.func @annotated_ends
// CHECK-NOT: gantry.copy
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @annotated_ends(%x: tensor<4xf32> {gantry.device = #gpu0}) -> (tensor<4xf32> {gantry.device = #gpu0}) {
    %c = gantry.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %a = gantry.add %x, %c {gantry.device = #gpu0} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %a : tensor<4xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// Two views of a value on another device need one copy: that of the value.
// CHECK-LABEL: func.func @views
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[ON0:.*]] = gantry.copy %[[X]] to "{{.*}}GPU:0"
// CHECK-NOT: gantry.copy
// CHECK: %[[V:.*]] = gantry.reshape %[[ON0]] : (tensor<4xf32>) -> tensor<2x2xf32>
// CHECK: %[[W:.*]] = gantry.reshape %[[ON0]] : (tensor<4xf32>) -> tensor<1x4xf32>
// CHECK: %[[A:.*]] = gantry.relu %[[V]]
// CHECK: gantry.copy %[[A]] to "{{.*}}CPU:0"
// CHECK: %[[B:.*]] = gantry.relu %[[W]]
// CHECK: gantry.copy %[[B]] to "{{.*}}CPU:0"
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @views(%x: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<1x4xf32>) {
    %v = gantry.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
    %w = gantry.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %a = gantry.relu %v {gantry.device = #gpu0} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %b = gantry.relu %w {gantry.device = #gpu0} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    return %a, %b : tensor<2x2xf32>, tensor<1x4xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// The copy stands outside of the loop that uses it, the condition is brought to the host in it.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: (%[[X:.*]]: tensor<i64>, %[[N:.*]]: tensor<i64>)
// CHECK-DAG: %[[X0:.*]] = gantry.copy %[[X]] to "{{.*}}GPU:0"
// CHECK-DAG: %[[N0:.*]] = gantry.copy %[[N]] to "{{.*}}GPU:0"
// CHECK: gantry.while(%[[X0]])
// CHECK: %[[MORE:.*]] = gantry.compare lt, %{{.*}}, %[[N0]]
// CHECK-NEXT: %[[FLAG:.*]] = gantry.copy %[[MORE]] to "{{.*}}CPU:0"
// CHECK: gantry.yield %[[FLAG]]
// CHECK: do
// CHECK-NOT: gantry.copy
// CHECK: gantry.yield
// CHECK: gantry.copy
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @loop(%x: tensor<i64>, %n: tensor<i64>) -> tensor<i64> {
    %y = gantry.while (%x) : (tensor<i64>) -> (tensor<i64>) {
    ^bb0(%i: tensor<i64>):
      %0 = gantry.compare lt, %i, %n {gantry.device = #gpu0} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %0 : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>):
      %1 = gantry.add %i, %n {gantry.device = #gpu0} : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %1 : tensor<i64>
    } {gantry.homes = [#gpu0]}
    return %y : tensor<i64>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// A copy that the graph asks for is the one that others use; a forced one is a buffer of its own.
// CHECK-LABEL: func.func @asked_for
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[ON0:.*]] = gantry.copy %[[X]] to "{{.*}}GPU:0" {cause
// CHECK: gantry.relu %[[ON0]]
// CHECK-NOT: to "{{.*}}GPU:0"
// CHECK: gantry.exp %[[ON0]]
// CHECK: %[[OWN:.*]] = gantry.copy %[[X]] to "{{.*}}GPU:0" force
// CHECK: gantry.abs %[[OWN]]
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @asked_for(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a = gantry.relu %x {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    %there = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4xf32>
    %b = gantry.exp %there {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    %own = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<4xf32>
    %c = gantry.abs %own {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// However long the chain, one view is made on the other side; a copy of a constant is no copy at all.
// CHECK-LABEL: func.func @chain_of_views
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[ON0:.*]] = gantry.copy %[[X]] to "{{.*}}GPU:0"
// CHECK-NOT: gantry.copy
// CHECK: %[[C:.*]] = gantry.constant
// CHECK: %[[V:.*]] = gantry.reshape %[[ON0]] : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK: gantry.add %[[V]], %[[C]]
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @chain_of_views(%x: tensor<4xf32>) -> (tensor<4x1xf32> {gantry.device = #gpu0}) {
    %c = gantry.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
    %u = gantry.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
    %v = gantry.reshape %u : (tensor<2x2xf32>) -> tensor<4x1xf32>
    %there = gantry.copy %c to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4x1xf32>
    %a = gantry.add %v, %there {gantry.device = #gpu0} : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
    return %a : tensor<4x1xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// What both sides of a branch use is copied once, before it; results live where Place put them.
// CHECK-LABEL: func.func @branch
// CHECK-SAME: (%[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[ON0:.*]] = gantry.copy %[[X]] to "{{.*}}GPU:0" {cause = "Relu at
// CHECK-NEXT: %[[Y:.*]] = gantry.if
// CHECK: %[[R:.*]] = gantry.relu %[[ON0]]
// CHECK-NEXT: gantry.yield %[[R]]
// CHECK: gantry.yield %[[ON0]]
// CHECK: %[[OUT:.*]] = gantry.copy %[[Y]] to "{{.*}}CPU:0"
// CHECK: return %[[OUT]]
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @branch(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %y = gantry.if %c -> (tensor<4xf32>) {
      %a = gantry.relu %x {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %a : tensor<4xf32>
    } else {
      gantry.yield %x : tensor<4xf32>
    } {gantry.homes = [#gpu0]} : tensor<i1>
    return %y : tensor<4xf32>
  }
}
