// Checks of indices: where they stand, what shares one, where they are to run.
// RUN: gantry-opt %s --gantry-insert-index-checks | FileCheck %s

// What the caller gives is checked where it is given, by the name that the caller knows, in front of
// everything; the op itself stays as it was.
// CHECK-LABEL: @given(
// CHECK-SAME:    %[[X:[^ :]+]]: tensor<9x4xf32>, %[[I:[^ :]+]]: tensor<2x3xi32>
// CHECK:         %[[FIRST:.*]] = gantry.first_bad_index %[[I]] {gantry.device = #gantry.device<"CPU:0">, gantry.name = "emb/first_bad_index", sizes = array<i64: 9>} : (tensor<2x3xi32>) -> tensor<2xi64>
// CHECK-NEXT:    gantry.assert_indices %[[FIRST]] of "ids" shape [2, 3] sizes [9] in "emb" is "Gather" {gantry.name = "emb"} : tensor<2xi64>
// CHECK-NEXT:    %[[WIDE:.*]] = gantry.cast
// CHECK-NEXT:    %[[FLAT:.*]] = gantry.reshape %[[WIDE]]
// CHECK-NEXT:    gantry.gather %[[X]], %[[FLAT]] {axis = 0 : i64, gantry.name = "emb", gantry.source_op = "Gather"}
func.func @given(%x: tensor<9x4xf32>, %i: tensor<2x3xi32> {gantry.name = "ids"}) -> tensor<6x4xf32> {
  %w = gantry.cast %i : (tensor<2x3xi32>) -> tensor<2x3xi64>
  %f = gantry.reshape %w : (tensor<2x3xi64>) -> tensor<6xi64>
  %y = gantry.gather %x, %f {axis = 0 : i64, gantry.name = "emb", gantry.source_op = "Gather"} : (tensor<9x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}

// Indices that the graph makes are checked right behind what makes them, and on its device.
// CHECK-LABEL: @made(
// CHECK:         %[[I:.*]] = gantry.add %{{.*}} {gantry.colocate = ["'sum' of '@made' and a check of indices"], gantry.name = "sum"}
// CHECK-NEXT:    %[[FIRST:.*]] = gantry.first_bad_index %[[I]] {gantry.colocate = ["'sum' of '@made' and a check of indices"], gantry.name = "pick/first_bad_index", sizes = array<i64: 9>}
// CHECK-NEXT:    gantry.assert_indices %[[FIRST]] of "sum" shape [] sizes [9] in "pick" is "GatherV2"
// CHECK-NEXT:    gantry.neg
// CHECK-NEXT:    gantry.gather %{{.*}}, %[[I]] {axis = 0 : i64, gantry.name = "pick"}
func.func @made(%x: tensor<9xf32>, %i: tensor<i64>) -> tensor<f32> {
  %s = gantry.add %i, %i {gantry.name = "sum"} : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %n = gantry.neg %x : (tensor<9xf32>) -> tensor<9xf32>
  %y = gantry.gather %n, %s {axis = 0 : i64, gantry.name = "pick"} : (tensor<9xf32>, tensor<i64>) -> tensor<f32>
  return %y : tensor<f32>
}

// Of ops that read the same indices into the same sizes, one check is for all; another size has its own.
// CHECK-LABEL: @shared(
// CHECK-COUNT-2: gantry.assert_indices
// CHECK-NOT:     gantry.assert_indices
func.func @shared(%x: tensor<9xf32>, %y: tensor<9xf32>, %z: tensor<8xf32>, %i: tensor<3xi64>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9xf32>, tensor<3xi64>) -> tensor<3xf32>
  %1 = gantry.gather %y, %i {axis = 0 : i64} : (tensor<9xf32>, tensor<3xi64>) -> tensor<3xf32>
  %2 = gantry.gather %z, %i {axis = 0 : i64} : (tensor<8xf32>, tensor<3xi64>) -> tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// A branch checks what it alone reads, and nothing that is checked on the way to it.
// CHECK-LABEL: @branch(
// CHECK:         gantry.assert_indices %{{.*}} of "a"
// CHECK:         gantry.gather
// CHECK:         gantry.if
// CHECK-NEXT:      gantry.gather
// CHECK:         } else {
// CHECK-NEXT:      %[[FIRST:.*]] = gantry.first_bad_index
// CHECK-NEXT:      gantry.assert_indices %[[FIRST]] of "b"
// CHECK-NEXT:      gantry.gather
func.func @branch(%c: tensor<i1>, %x: tensor<9xf32>, %a: tensor<3xi64> {gantry.name = "a"}, %b: tensor<3xi64> {gantry.name = "b"}) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = gantry.gather %x, %a {axis = 0 : i64} : (tensor<9xf32>, tensor<3xi64>) -> tensor<3xf32>
  %1 = gantry.if %c -> (tensor<3xf32>) {
    %2 = gantry.gather %x, %a {axis = 0 : i64} : (tensor<9xf32>, tensor<3xi64>) -> tensor<3xf32>
    gantry.yield %2 : tensor<3xf32>
  } else {
    %2 = gantry.gather %x, %b {axis = 0 : i64} : (tensor<9xf32>, tensor<3xi64>) -> tensor<3xf32>
    gantry.yield %2 : tensor<3xf32>
  } : tensor<i1>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// The steps of a loop have indices of their own; what nobody makes is checked with the op that reads it.
// CHECK-LABEL: @loop(
// CHECK:       } do {
// CHECK:       ^bb0(%[[AT:.*]]: tensor<i64>, %{{.*}}: tensor<9xf32>):
// CHECK-NEXT:    gantry.first_bad_index %[[AT]] {gantry.colocate = ["'put' of '@loop' and a check of indices"], {{.*}} : (tensor<i64>)
// CHECK-NEXT:    gantry.assert_indices %{{.*}} of "argument 0" shape [] sizes [9] in "put" is "DynamicUpdateSlice"
func.func @loop(%x: tensor<9xf32>, %n: tensor<i64>, %one: tensor<i64>, %v: tensor<f32>) -> tensor<9xf32> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %r:2 = gantry.while (%zero, %x) : (tensor<i64>, tensor<9xf32>) -> (tensor<i64>, tensor<9xf32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<9xf32>):
    %m = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %m : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<9xf32>):
    %next = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %b = gantry.set_slice %a, %v, %i {axis = 0 : i64, gantry.name = "put"} : (tensor<9xf32>, tensor<f32>, tensor<i64>) -> tensor<9xf32>
    gantry.yield %next, %b : tensor<i64>, tensor<9xf32>
  }
  return %r#1 : tensor<9xf32>
}

// A counter that stays in range in all steps of a loop of a known number needs no check, in either
// direction; one that does not is checked in each.
// CHECK-LABEL: @counters(
// CHECK:       } do {
// CHECK-NOT:     gantry.first_bad_index
// CHECK:         gantry.gather {{.*}} {axis = 0 : i64, gantry.name = "up"}
// CHECK-NEXT:    gantry.gather {{.*}} {axis = 0 : i64, gantry.name = "down"}
// CHECK:       } do {
// CHECK:         gantry.first_bad_index
// CHECK:         gantry.gather {{.*}} {axis = 0 : i64, {{.*}}gantry.name = "too_far"}
func.func @counters(%x: tensor<9xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %minus = gantry.constant dense<-1> : tensor<i64>
  %last = gantry.constant dense<8> : tensor<i64>
  %nine = gantry.constant dense<9> : tensor<i64>
  %ten = gantry.constant dense<10> : tensor<i64>
  %start = gantry.constant dense<0.0> : tensor<f32>
  %r:3 = gantry.while (%zero, %last, %start) : (tensor<i64>, tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<i64>, tensor<f32>) {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>, %a: tensor<f32>):
    %m = gantry.compare lt, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %m : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>, %a: tensor<f32>):
    %u = gantry.gather %x, %i {axis = 0 : i64, gantry.name = "up"} : (tensor<9xf32>, tensor<i64>) -> tensor<f32>
    %d = gantry.gather %x, %j {axis = 0 : i64, gantry.name = "down"} : (tensor<9xf32>, tensor<i64>) -> tensor<f32>
    %s = gantry.add %u, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %ni = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %nj = gantry.add %j, %minus : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %ni, %nj, %s : tensor<i64>, tensor<i64>, tensor<f32>
  }
  %q:2 = gantry.while (%zero, %start) : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>):
    %m = gantry.compare lt, %i, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %m : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>):
    %u = gantry.gather %x, %i {axis = 0 : i64, gantry.name = "too_far"} : (tensor<9xf32>, tensor<i64>) -> tensor<f32>
    %ni = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %ni, %u : tensor<i64>, tensor<f32>
  }
  return %r#2, %q#1 : tensor<f32>, tensor<f32>
}

// Tuples are checked as they are: their components are in the last dimension.
// CHECK-LABEL: @tuples(
// CHECK-SAME:    %{{[^,]*}}, %[[F:[^ :]+]]: tensor<6xi64>, %[[J:[^ :]+]]: tensor<4x1xi64>
// CHECK:         gantry.first_bad_index %[[J]] {gantry.device = #gantry.device<"CPU:0">, sizes = array<i64: 5>}
// CHECK:         %[[I:.*]] = gantry.reshape %[[F]]
// CHECK:         gantry.first_bad_index %[[I]] {{.*}}sizes = array<i64: 4, 5>} : (tensor<3x2xi64>)
func.func @tuples(%x: tensor<4x5x6xf32>, %f: tensor<6xi64>, %j: tensor<4x1xi64>, %z: tensor<4x5xf32>) -> (tensor<3x6xf32>, tensor<4xf32>) {
  %i = gantry.reshape %f : (tensor<6xi64>) -> tensor<3x2xi64>
  %0 = gantry.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<4x5x6xf32>, tensor<3x2xi64>) -> tensor<3x6xf32>
  %1 = gantry.gather_nd %z, %j {batch_dims = 1 : i64} : (tensor<4x5xf32>, tensor<4x1xi64>) -> tensor<4xf32>
  return %0, %1 : tensor<3x6xf32>, tensor<4xf32>
}

// Known indices need no check, nor do none.
// CHECK-LABEL: @known(
// CHECK-NOT:     gantry.first_bad_index
// CHECK:         return
func.func @known(%x: tensor<9xf32>, %e: tensor<0xi64>) -> (tensor<2xf32>, tensor<0xf32>) {
  %i = gantry.constant dense<[-9, 8]> : tensor<2xi64>
  %0 = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9xf32>, tensor<2xi64>) -> tensor<2xf32>
  %1 = gantry.gather %x, %e {axis = 0 : i64} : (tensor<9xf32>, tensor<0xi64>) -> tensor<0xf32>
  return %0, %1 : tensor<2xf32>, tensor<0xf32>
}
