// RUN: gantry-opt %s --gantry-annotate-trips | FileCheck %s

// A counter from 0 to below 10, one more each time.
// CHECK-LABEL: @counts(
// CHECK: gantry.yield {{.*}} : tensor<i64>, tensor<4xf32>
// CHECK-NEXT: } {gantry.trips = 10 : i64}
func.func @counts(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %ten = gantry.constant dense<10> : tensor<i64>
  %n, %y = gantry.while (%zero, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %more = gantry.compare lt, %i, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %next = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %w = gantry.relu %v : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %next, %w : tensor<i64>, tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// Down from 10 in steps of 3 to at least 0, the limit on the left, and a flag that stays true.
// CHECK-LABEL: @counts_down(
// CHECK: } {gantry.trips = 4 : i64}
func.func @counts_down() -> tensor<i32> {
  %ten = gantry.constant dense<10> : tensor<i32>
  %three = gantry.constant dense<3> : tensor<i32>
  %zero = gantry.constant dense<0> : tensor<i32>
  %true = gantry.constant dense<true> : tensor<i1>
  %n, %f = gantry.while (%ten, %true) : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i1>) {
  ^bb0(%i: tensor<i32>, %flag: tensor<i1>):
    %more = gantry.compare le, %zero, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %both = gantry.logical_and %more, %flag : (tensor<i1>, tensor<i1>) -> tensor<i1>
    gantry.yield %both : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %flag: tensor<i1>):
    %next = gantry.sub %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i32>
    gantry.yield %next, %flag : tensor<i32>, tensor<i1>
  }
  return %n : tensor<i32>
}

// A limit that is an input, a flag that the body makes, a counter that leads away, one that is past the
// limit from the start.
// CHECK-LABEL: @unknown(
// CHECK-NOT: gantry.trips
func.func @unknown(%limit: tensor<i64>, %x: tensor<i1>) -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %ten = gantry.constant dense<10> : tensor<i64>
  %true = gantry.constant dense<true> : tensor<i1>
  %a = gantry.while (%zero) : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %more = gantry.compare lt, %i, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    %next = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %next : tensor<i64>
  }
  %b, %f = gantry.while (%zero, %true) : (tensor<i64>, tensor<i1>) -> (tensor<i64>, tensor<i1>) {
  ^bb0(%i: tensor<i64>, %flag: tensor<i1>):
    %more = gantry.compare lt, %i, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %both = gantry.logical_and %flag, %more : (tensor<i1>, tensor<i1>) -> tensor<i1>
    gantry.yield %both : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %flag: tensor<i1>):
    %next = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %goes_on = gantry.logical_and %flag, %x : (tensor<i1>, tensor<i1>) -> tensor<i1>
    gantry.yield %next, %goes_on : tensor<i64>, tensor<i1>
  }
  %c = gantry.while (%zero) : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %more = gantry.compare lt, %i, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    %next = gantry.sub %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %next : tensor<i64>
  }
  %d = gantry.while (%ten) : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %more = gantry.compare lt, %i, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    %next = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %next : tensor<i64>
  }
  return %a, %b, %c, %d : tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>
}
