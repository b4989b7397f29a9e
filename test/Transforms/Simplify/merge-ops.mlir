// Equal ops with equal requests are one op wherever the requests come from; the first one's place
// is kept (spec P1).

// RUN: gantry-opt %s --gantry-resolve-scopes --gantry-merge-ops | FileCheck %s --check-prefixes=CHECK,MERGED
// What CSE alone does: it sees two scopes.
// RUN: gantry-opt %s --gantry-resolve-scopes --cse | FileCheck %s --check-prefix=CSE

// CHECK: #[[$FIRST:loc[0-9]*]] = loc("{{.*}}merge-ops.mlir":[[#@LINE+9]]:8)
// CHECK-LABEL: @p1_two_scopes_one_request
// CHECK-NEXT: %[[Y:.*]] = gantry.relu {{.*}}GPU:1{{.*}}, gantry.origin = #[[$FIRST]]}
// CHECK-NEXT: return %[[Y]], %[[Y]]
// CSE-LABEL: @p1_two_scopes_one_request
// CSE: gantry.relu
// CSE: gantry.relu
// CSE: return
func.func @p1_two_scopes_one_request(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.on "GPU:1" -> (tensor<4xf32>) {
    %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  %1 = gantry.on "GPU:1" -> (tensor<4xf32>) {
    %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// MERGED-LABEL: @p1_two_scopes_two_requests
// MERGED: gantry.relu {{.*}}GPU:0{{.*}}gantry.origin
// MERGED: gantry.relu {{.*}}GPU:1{{.*}}gantry.origin
// MERGED: gantry.relu {{.*}}GPU:1{{.*}}gantry.origin{{.*}}gantry.soft = #gantry<soft prefer>
func.func @p1_two_scopes_two_requests(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.on "GPU:0" -> (tensor<4xf32>) {
    %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  %1 = gantry.on "GPU:1" -> (tensor<4xf32>) {
    %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  %2 = gantry.on "GPU:1" soft prefer -> (tensor<4xf32>) {
    %y = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Branches merge by what they contain and read, also when what they read merges first; those that
// read another value stay. No mark of the pass is left.
// MERGED-LABEL: @branches
// MERGED-SAME: %[[C:[^:]*]]: tensor<i1>, %[[X:[^:]*]]: tensor<4xf32>, %[[Y:[^:]*]]: tensor<4xf32>
// MERGED-NEXT: %[[A:.*]] = gantry.relu %[[X]]
// MERGED-NEXT: %[[R:.*]] = gantry.if %[[C]]
// MERGED-NEXT: gantry.neg %[[A]]
// MERGED: } else {
// MERGED: } : tensor<i1>
// MERGED-NEXT: %[[S:.*]] = gantry.if %[[C]]
// MERGED-NEXT: gantry.neg %[[Y]]
// MERGED: } : tensor<i1>
// MERGED-NEXT: return %[[R]], %[[R]], %[[S]]
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %0 = gantry.if %c -> (tensor<4xf32>) {
    %n = gantry.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %n : tensor<4xf32>
  } else {
    gantry.yield %x : tensor<4xf32>
  } : tensor<i1>
  %1 = gantry.if %c -> (tensor<4xf32>) {
    %n = gantry.neg %b : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %n : tensor<4xf32>
  } else {
    gantry.yield %x : tensor<4xf32>
  } : tensor<i1>
  %2 = gantry.if %c -> (tensor<4xf32>) {
    %n = gantry.neg %y : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %n : tensor<4xf32>
  } else {
    gantry.yield %x : tensor<4xf32>
  } : tensor<i1>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
