// The library's parts that are used, and ours in place of the others. It takes the place of the
// library's own registry, which would bring 60 kB of controls that nobody sees.
import BooleanField from "@rjsf/core/lib/components/fields/BooleanField.js";
import MultiSchemaField from "@rjsf/core/lib/components/fields/MultiSchemaField.js";
import StringField from "@rjsf/core/lib/components/fields/StringField.js";
import { englishStringTranslator, TranslatableString } from "@rjsf/utils";
import { ArrayField, JsonField, NullField, ObjectField, SchemaField } from "./fields";
import { SEPARATOR } from "./ids";
import { templates } from "./templates";
import { widgets } from "./widgets";

export default function getDefaultRegistry() {
  return {
    fields: {
      AnyOfField: MultiSchemaField,
      OneOfField: MultiSchemaField,
      ArrayField,
      BooleanField,
      StringField,
      // The library's own changes a number while it is typed.
      NumberField: StringField,
      NullField,
      ObjectField,
      SchemaField,
      FallbackField: JsonField,
      json: JsonField,
    },
    templates,
    widgets,
    rootSchema: {},
    formContext: {},
    translateString: translate,
    globalFormOptions: {
      idPrefix: "hitl",
      idSeparator: SEPARATOR,
      useFallbackUiForUnsupportedType: false,
    },
  };
}

/** A new text is empty, not "New Value". */
const translate = (words: TranslatableString, params?: string[]): string =>
  words === TranslatableString.NewStringDefault ? "" : englishStringTranslator(words, params);
